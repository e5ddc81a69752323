// Ends work on users' bytes that fails again and again for a reason that nobody foresaw, or that ends its worker each time.
// Outages are waited for without end.
import { ApplicationFailure, cancellationSignal, heartbeat, activityInfo } from '@temporalio/activity'
import { isBug } from '../src/domain/outage.ts'
import { createTurns } from '../src/turns.ts'
import { withHeartbeat } from './heartbeat.ts'

const maxTries = 5
/** After so many tries without an end, work has either ended its workers or run beside work that did. */
const suspectTries = 3

/** Tries that failed on a bug, and those whose end nobody saw. Temporal keeps it from one try to the next. */
type Counted = { tries: number }

/** `id`: what is worked on; suspects take turns by it. `type`: of the failure. */
type Work = { id: string; what: string; type: 'NotUnderstood' | 'Refused' }

export const boundedTries = createBoundedTries()

/** For one process: of the work that may have ended a worker, only one piece runs at a time, so that the next end tells which it is. */
export function createBoundedTries() {
  const alone = createTurns({ atMost: 1, atMostOfAccount: 1 })

  /**
   * Counts a try before it begins, in the details of its heartbeats: the count outlives the worker. A try that ends with a known
   * failure or an outage is taken off the count again. Temporal's own count has the tries that an outage used up.
   * @throws ApplicationFailure of `type`, which is not retried, after five tries
   */
  return async function boundedTries<T>({ id, what, type }: Work, work: () => Promise<T>): Promise<T> {
    const before = countedBefore()
    if (before >= maxTries)
      throw ended(type, `${what} has ended its worker, or failed on an unforeseen error, ${before} times.`)
    const counted: Counted = { tries: before }
    const counting = async () => {
      count(counted, before + 1)
      try {
        return await work()
      } catch (error) {
        if (error instanceof ApplicationFailure || !isBug(error)) count(counted, before)
        else if (counted.tries >= maxTries)
          throw ended(type, `${what} failed ${counted.tries} times on an unforeseen error.`, [sentenceOf(error)])
        throw error
      }
    }
    const inTurn = async () => {
      await alone.take(id, cancellationSignal())
      return counting().finally(() => alone.giveBack(id))
    }
    return withHeartbeat(before >= suspectTries ? inTurn : counting, () => counted)
  }
}

function countedBefore(): number {
  const { tries = 0 } = (activityInfo().heartbeatDetails ?? {}) as Partial<Counted>
  return tries
}

function count(counted: Counted, tries: number) {
  counted.tries = tries
  heartbeat(counted)
}

const sentenceOf = (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error))

const ended = (type: string, message: string, details: string[] = []) =>
  ApplicationFailure.create({ message, type, nonRetryable: true, details })
