import type { Backlog } from '../../repositories/backlog.ts'
import type { ServiceDependencies } from '../context.ts'
import { within } from './within.ts'

const timeoutMs = 2000

/** @returns null when the database does not answer in time */
export async function measureBacklog({
  deps: { database, log },
}: {
  deps: Pick<ServiceDependencies, 'database' | 'log'>
}): Promise<Backlog | null> {
  try {
    return await within(timeoutMs, () => database.backlog.measure())
  } catch (error) {
    log.warn({ err: error }, 'failed to measure the backlog')
    return null
  }
}
