import { setTimeout as sleep } from 'node:timers/promises'
import type { Backlog } from '../../repositories/backlog.ts'
import type { ServiceDependencies } from '../context.ts'

const timeoutMs = 2000

/** @returns null when the database does not answer in time */
export async function measureBacklog({
  deps: { database, log },
}: {
  deps: Pick<ServiceDependencies, 'database' | 'log'>
}): Promise<Backlog | null> {
  const late = sleep(timeoutMs, undefined, { ref: false }).then(() => Promise.reject(new Error('timeout')))
  try {
    return await Promise.race([database.backlog.measure(), late])
  } catch (error) {
    log.warn({ err: error }, 'failed to measure the backlog')
    return null
  }
}
