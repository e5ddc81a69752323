export function clientEnv(requirements: string): Promise<string>
