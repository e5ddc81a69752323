export function clientEnv(requirements: string, options?: { space?: string }): Promise<string>
export function packagesBeside(requirements: string): Promise<string>
export function clientPackages(source: string, options?: { withOptional?: boolean }): Promise<string>
