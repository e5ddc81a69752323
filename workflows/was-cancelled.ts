import { isCancellation, patched, type CancellationScope } from '@temporalio/workflow'

/**
 * Whether what ended the work in this scope is its cancel. Temporal tries nothing again that is to be cancelled: what the
 * last try of an activity came to, a lost worker or an outage, then stands in the place of the cancel.
 */
export const wasCancelled = (scope: CancellationScope, error: unknown): boolean =>
  isCancellation(error) || (scope.consideredCancelled && patched('cancelled-scope'))
