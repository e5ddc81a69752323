import { ComputeError } from './errors.ts'

const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Names become folders here and object names on a cluster: a DNS label is safe as both. */
export function isRunName(name: string): boolean {
  return dnsLabel.test(name)
}

export function assertRunName(name: string): void {
  if (!isRunName(name)) throw new ComputeError('invalid', `${JSON.stringify(name)} cannot name a run: not a DNS label`)
}
