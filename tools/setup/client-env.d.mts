export function clientEnv(requirements: string): Promise<string>
export function clientPackages(source: string): Promise<string>
