import { isCancellation, type CancellationScope } from '@temporalio/workflow'

/**
 * Whether a cancel ended the work in this scope. Temporal does not retry an activity whose cancel is requested, so the
 * error may be that of the activity's last try, such as a lost worker or an outage.
 */
export const wasCancelled = (scope: CancellationScope, error: unknown): boolean =>
  isCancellation(error) || scope.consideredCancelled
