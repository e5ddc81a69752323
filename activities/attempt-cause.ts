// From how a run ended to why its attempt did.
import type { EndState } from '../src/compute/compute.ts'
import { causeOfExit, policyOf, type AttemptCause } from '../src/domain/attempt-cause.ts'
import type { Attempt } from '../src/domain/training-job.ts'

export type AttemptEnd = { cause: AttemptCause; exitCode: number | null; message: string }

/** What was written down before stands, unless the program finished all the same. */
export function describeAttemptEnd(
  end: EndState,
  { cause, message, exitCode, reportedCause, claimedAt }: Attempt,
): AttemptEnd {
  if (end.state === 'succeeded') return { cause: 'finished', exitCode: 0, message: policyOf('finished').sentence }
  const ended = end.state === 'failed' ? end.exitCode : null
  if (cause !== null) return { cause, exitCode: ended ?? exitCode, message: message ?? policyOf(cause).sentence }
  const reported = reportedCause === null ? null : message
  if (end.state === 'failed') {
    const why = causeOfFailure(end)
    return { cause: why, exitCode: end.exitCode, message: reported ?? (end.message || policyOf(why).sentence) }
  }
  const why = claimedAt === null ? 'control_plane' : 'lost'
  return { cause: why, exitCode: null, message: reported ?? policyOf(why).sentence }
}

function causeOfFailure({ reason, exitCode }: Extract<EndState, { state: 'failed' }>): AttemptCause {
  if (reason !== 'exited' && reason !== 'killed') return reason
  return exitCode === null ? 'killed' : causeOfExit(exitCode)
}
