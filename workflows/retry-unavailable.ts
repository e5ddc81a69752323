// Repeats work that a model which cannot be served has stopped, for about a quarter of an hour.
import { ActivityFailure, ApplicationFailure, sleep } from '@temporalio/workflow'

/** Tries of one chunk, with growing waits between them. */
const maxTries = 12
const firstBackOffMs = 2000
const maxBackOffMs = 60_000

export async function whileUnavailable(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error) || tries >= maxTries) throw error
      await sleep(Math.min(firstBackOffMs * 2 ** (tries - 1), maxBackOffMs))
    }
  }
}

const isUnavailable = (error: unknown) =>
  error instanceof ActivityFailure &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === 'ModelUnavailable'

/** The sentence for the owner in a failed activity, if the failure is one that the owner can do something about. */
export function ownersMessage(error: unknown): string | null {
  const cause = error instanceof ActivityFailure ? error.cause : error
  const isForOwner = cause instanceof ApplicationFailure && ['Refused', 'ModelUnavailable'].includes(cause.type ?? '')
  return isForOwner ? cause.message : null
}
