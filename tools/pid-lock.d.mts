export interface ProcessIdentity {
  pid: number
  startTime: string
}
export function startTimeOf(pid: number): string | null
export function identify(pid: number): ProcessIdentity
export function isAlive(identity: ProcessIdentity): boolean
export function lockOwner(path: string): ProcessIdentity | null
export function takeLock(path: string): ProcessIdentity | null
export function releaseLock(path: string): void
