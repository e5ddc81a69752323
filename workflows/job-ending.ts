// How a job ends: by a decision of the policy, or by an error that no policy foresees.
import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow'
import type { Decision } from '../src/domain/attempt-outcome.ts'
import type { JobEnding } from '../src/domain/training-job.ts'
import type { Relaunch } from './contract.ts'

export function endingOf(decision: Exclude<Decision, Relaunch>, modelName: string | null): JobEnding {
  if (decision.next === 'complete') return { status: 'COMPLETED', reason: null, message: null, modelName }
  const { reason, message } = decision
  return { status: decision.next === 'fail' ? 'FAILED' : 'PARTIALLY COMPLETED', reason, message, modelName }
}

/** The end of a job whose data cannot be trained on. @returns null for other errors */
export function dataError(error: unknown): JobEnding | null {
  const cause = causeOf(error)
  const reason = cause?.type === 'DatasetInvalid' ? 'data_error' : cause?.type === 'DoesNotFit' ? 'does_not_fit' : null
  return reason && cause ? { status: 'FAILED', reason, message: cause.message, modelName: null } : null
}

/** The failure that an activity threw. */
function causeOf(error: unknown): ApplicationFailure | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  return cause instanceof ApplicationFailure ? cause : undefined
}

export const endingOfError = (error: unknown): JobEnding =>
  dataError(error) ?? { status: 'FAILED', ...reasonOf(causeOf(error)), modelName: null }

const unexpected = {
  reason: 'internal_error',
  message:
    'An unexpected error ended the job. Its workflow in Temporal has the details. Resume the job once the cause is fixed.',
}
const restored = {
  reason: 'restored',
  message: 'The database was restored to an earlier state than the workflow of the job. Resume the job to continue.',
}

function reasonOf(cause: ApplicationFailure | undefined): Pick<JobEnding, 'reason' | 'message'> {
  if (cause?.type === 'Unknown') return restored
  if (cause?.type !== 'NotUnderstood') return unexpected
  const message = `${cause.message} The job's workflow in Temporal has the details. Resume the job once the cause is fixed.`
  return { ...unexpected, message }
}
