import { ServiceError } from '../../domain/service-error.ts'
import type { ServiceDependencies } from '../context.ts'
import { within } from './within.ts'

const timeoutMs = 2000

/**
 * Ready means that commands are accepted: the database and the object store answer. Without Temporal the outbox waits.
 * @throws ServiceError unavailable with the name of what does not answer
 */
export async function checkReadiness({ deps }: { deps: Pick<ServiceDependencies, 'database' | 'storage'> }) {
  await Promise.all([
    answers('The database', () => deps.database.check()),
    answers('The object store', () => deps.storage.check()),
  ])
}

async function answers(name: string, check: () => Promise<void>) {
  await within(timeoutMs, check).catch(() => {
    throw new ServiceError('unavailable', `${name} does not answer.`, { retryAfterSeconds: 1 })
  })
}
