// Every write of a training pod runs in a transaction that proves that its attempt is the newest and not fenced.
import { ServiceError } from '../../domain/service-error.ts'
import type { Attempt } from '../../domain/training-job.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { PodCtx } from '../context.ts'

export const fenced = () =>
  new ServiceError('attempt_fenced', 'This attempt was released, or a newer one has replaced it.')

/** @throws ServiceError attempt_fenced, invalid_token */
export async function fencedWrite<T>(
  { deps, tokenHash }: PodCtx,
  write: (tx: Repositories, attempt: Attempt) => Promise<T>,
): Promise<T> {
  return deps.database.transaction(async (tx) => {
    const attempt = await tx.attempts.holdUnfenced(tokenHash)
    if (attempt) return write(tx, attempt)
    throw (await tx.attempts.exists(tokenHash)) ? fenced() : new ServiceError('invalid_token', 'invalid token')
  })
}
