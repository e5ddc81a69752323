export function chooseTorch(): Promise<{ name: string; leaveOut?: RegExp }>
export function filterLock(lock: string, leaveOut: RegExp | undefined, path: string): string
