export function cached(step: string, name: string, make: (temporaryDir: string) => Promise<void>): Promise<string>
export function withLock<T>(step: string, path: string, work: () => Promise<T>): Promise<T>
export function releaseLocks(): void
