// From the end of a run to the cause of its attempt's end.
import type { EndState, FailedState } from '../src/compute/run.ts'
import { assertNever } from '../src/domain/assert-never.ts'
import { causeOfExit, policyOf, type AttemptCause } from '../src/domain/attempt-cause.ts'
import type { Attempt } from '../src/domain/training-job.ts'

type AttemptEnd = { cause: AttemptCause; exitCode: number | null; message: string }

/**
 * A cause that is recorded already stands, unless the program finished all the same.
 * @param isCancelled a cancel of the job was accepted: what ended the program was the service
 */
export function describeAttemptEnd(
  end: EndState,
  { cause, message, exitCode, reportedCause, claimedAt }: Attempt,
  { isCancelled }: { isCancelled: boolean },
): AttemptEnd {
  if (end.state === 'succeeded') return { cause: 'finished', exitCode: 0, message: policyOf('finished').sentence }
  const ended = end.state === 'failed' ? end.exitCode : null
  if (cause !== null) return { cause, exitCode: ended ?? exitCode, message: message ?? policyOf(cause).sentence }
  const reported = reportedCause === null ? null : message
  if (end.state === 'failed') {
    const found = causeOfFailure(end)
    if (isCancelled && byCancel.includes(found)) return cancelled(end.exitCode)
    return { cause: found, exitCode: end.exitCode, message: reported ?? (end.message || policyOf(found).sentence) }
  }
  if (isCancelled) return cancelled(null)
  const found = claimedAt === null ? 'control_plane' : 'lost'
  return { cause: found, exitCode: null, message: reported ?? policyOf(found).sentence }
}

/** How the end of a program that the service stops may look. */
const byCancel: readonly AttemptCause[] = ['killed', 'lost', 'peer_lost']

const cancelled = (exitCode: number | null): AttemptEnd => ({
  cause: 'cancelled',
  exitCode,
  message: policyOf('cancelled').sentence,
})

/** The only place that gives a backend's failure reason a meaning. */
export function causeOfFailure({ reason, exitCode }: Pick<FailedState, 'reason' | 'exitCode'>): AttemptCause {
  switch (reason) {
    case 'exited':
    case 'killed':
      return exitCode === null ? 'killed' : causeOfExit(exitCode)
    case 'lost':
      return 'lost'
    case 'out_of_memory':
      return 'out_of_memory'
    case 'out_of_disk':
      return 'out_of_disk'
    case 'evicted':
      return 'evicted'
    case 'preempted':
      return 'preempted'
    case 'node_lost':
      return 'node_lost'
    case 'deadline_exceeded':
      return 'deadline'
    case 'image_unavailable':
      return 'image_unavailable'
    default:
      return assertNever(reason)
  }
}
