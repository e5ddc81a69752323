// `npm stop`: asks the supervisor to end, or cleans up after a killed one.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, releaseLock, takeLock, type ProcessIdentity } from '../../tools/pid-lock.mjs'
import { sendSignal } from './end-process.ts'
import { describeHome, type Home } from './data-directory.ts'
import { leftovers } from './leftovers.ts'
import { removeConnection } from './connection.ts'
import { endStack } from './stack.ts'
import { StartError } from './start-error.ts'

const pollMs = 50
/** Longer than the time limits of all servers together. */
const timeoutMs = 120_000

/** Resolves once the stack has ended. @returns whether anything ran */
export async function stopStack(dir: string, say: (text: string) => void): Promise<boolean> {
  const home = describeHome(dir)
  if (!existsSync(home.dir)) return false
  const owner = takeLock(home.lock)
  if (owner) return stopSupervisor(owner)
  try {
    return await endOrphans(home, say)
  } finally {
    releaseLock(home.lock)
  }
}

async function stopSupervisor(owner: ProcessIdentity): Promise<true> {
  sendSignal(owner, 'SIGTERM')
  for (const deadline = performance.now() + timeoutMs; isAlive(owner); await sleep(pollMs)) {
    if (performance.now() > deadline) throw new StartError(`The supervisor (pid ${owner.pid}) does not stop.`)
  }
  return true
}

async function endOrphans(home: Home, say: (text: string) => void): Promise<boolean> {
  const found = leftovers(home).map(([name]) => name)
  if (found.length > 0) say(`ending the processes of a killed supervisor: ${found.join(', ')}`)
  removeConnection(home)
  await endStack(home, say)
  return found.length > 0
}
