import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, type ProcessIdentity } from '../../tools/pid-lock.mjs'
import type { ProcessName } from './process-names.ts'

const pollMs = 25

/** How each server is asked to end, and how long it may take before SIGKILL. */
const endings = {
  // The worker's activities hand over their state first.
  worker: { signal: 'SIGTERM', timeoutMs: 20_000 },
  api: { signal: 'SIGTERM', timeoutMs: 10_000 },
  temporal: { signal: 'SIGTERM', timeoutMs: 8_000 },
  s3: { signal: 'SIGTERM', timeoutMs: 5_000 },
  // SIGINT is Postgres' fast shutdown; SIGTERM would wait for every client.
  postgres: { signal: 'SIGINT', timeoutMs: 15_000 },
} satisfies Record<ProcessName, { signal: NodeJS.Signals; timeoutMs: number }>

/** Resolves when the process is gone, also when it is no child of ours. */
export async function endProcess(name: ProcessName, identity: ProcessIdentity): Promise<void> {
  const { signal, timeoutMs } = endings[name]
  sendSignal(identity, signal)
  const deadline = performance.now() + timeoutMs
  while (isAlive(identity)) {
    if (performance.now() > deadline) sendSignal(identity, 'SIGKILL')
    await sleep(pollMs)
  }
}

/** Signals the process, or its whole group. A process that is gone already is no error. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals, toGroup = false): void {
  if (!toGroup && !isAlive(identity)) return
  try {
    process.kill(toGroup ? -identity.pid : identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
