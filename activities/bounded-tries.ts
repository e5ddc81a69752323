// Ends work on users' bytes that fails again and again for a reason that nobody foresaw. Outages are waited for without end.
import { ApplicationFailure } from '@temporalio/activity'
import { isBug } from '../src/domain/outage.ts'

const maxTries = 5

/** Counts tries by job in this process: Temporal's own count has the tries that an outage used up. */
export function createBoundedTries() {
  const failedTries = new Map<number, number>()

  /** @throws ApplicationFailure NotUnderstood, which is not retried, after five tries */
  return async function boundedTries<T>(jobId: number, what: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      failedTries.delete(jobId)
      return result
    } catch (error) {
      if (error instanceof ApplicationFailure || !isBug(error)) throw error
      const tries = (failedTries.get(jobId) ?? 0) + 1
      failedTries.set(jobId, tries)
      if (tries < maxTries) throw error
      failedTries.delete(jobId)
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      const message = `${what} failed ${tries} times on an unforeseen error.`
      throw ApplicationFailure.create({ message, type: 'NotUnderstood', nonRetryable: true, details: [reason] })
    }
  }
}
