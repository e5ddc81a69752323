// Failures of activities that ask models.
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import type { Database } from '../src/repositories/database.ts'
import { failureOf } from './batch-answers.ts'

/** No retry can help. */
export const refused = (message: string) => ApplicationFailure.nonRetryable(message, 'Refused')

/** @throws ApplicationFailure Refused when no retry can help, ModelUnavailable when a later one may */
export async function withModelErrors<T>(
  database: Pick<Database, 'check'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = cancellationSignal()
  try {
    return await work(signal)
  } catch (error) {
    if (signal.aborted) throw error
    // Without the database no model can be found: throws first, so that the model is not blamed.
    await database.check()
    throw failureOf(error)
  }
}
