// Bounds the preparations of an account that wait in this process, and lets those of one upload take turns: the later ones find
// what the first has prepared.
import { ApplicationFailure, activityInfo } from '@temporalio/activity'
import { ApplicationFailureCategory } from '@temporalio/common'
import type { TrainingJob } from '../src/domain/training-job.ts'

/** More would fill the worker's places for activities, which all accounts share. */
const maxPlacesOfAccount = 16
const shortestDelayMs = 5000
const longestDelayMs = 60_000

export function createPreparationPlaces() {
  const taken = new Map<string, number>()
  const running = new Map<string, Promise<unknown>>()

  return {
    /** @throws ApplicationFailure WaitsForTurn, which Temporal retries later without holding a place */
    async use(
      { accountId, spec: { dataKey } }: Pick<TrainingJob, 'accountId' | 'spec'>,
      signal: AbortSignal,
      work: () => Promise<void>,
    ): Promise<void> {
      const count = taken.get(accountId) ?? 0
      if (count >= maxPlacesOfAccount) throw waitsForTurn()
      taken.set(accountId, count + 1)
      try {
        await oneAtATime(dataKey, signal, work)
      } finally {
        const left = (taken.get(accountId) ?? 1) - 1
        if (left > 0) taken.set(accountId, left)
        else taken.delete(accountId)
      }
    },
  }

  async function oneAtATime(key: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let before = running.get(key); before; before = running.get(key)) await orAborted(before, signal)
    const mine = work()
    running.set(key, mine)
    try {
      await mine
    } finally {
      running.delete(key)
    }
  }
}

/** Waits for the end, however it comes. @throws the signal's reason */
async function orAborted(promise: Promise<unknown>, signal: AbortSignal) {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    signal.throwIfAborted()
    await Promise.race([promise.catch(() => undefined), aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Later with each try, because a thousand jobs may wait. */
function waitsForTurn() {
  const delayMs = Math.min(shortestDelayMs * activityInfo().attempt, longestDelayMs)
  return ApplicationFailure.create({
    message: 'Other data sets of this account are being checked.',
    type: 'WaitsForTurn',
    nonRetryable: false,
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.round(delayMs * (0.5 + Math.random())),
  })
}
