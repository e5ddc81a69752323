export function findGo(scratch: string): Promise<{ command: string; version: string; env: Record<string, string> }>
