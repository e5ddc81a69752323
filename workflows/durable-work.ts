// The life that all durable work has: it runs, and its row is ended before its workflow closes.
import { ApplicationFailure, CancellationScope, CancelledFailure } from '@temporalio/workflow'
import { ownersMessage } from './retry-unavailable.ts'
import { wasCancelled } from './was-cancelled.ts'

type Life = {
  run: () => Promise<void>
  /** Ends the row. A repeat changes nothing. */
  end: (how: { isCancel: boolean; message: string }) => Promise<void>
  cancelled: string
  /** For the owner; null for an error that nobody foresaw. */
  messageOf?: (error: unknown) => string | null
  /** Names the work in a sentence. */
  what: string
  /** The type of the error that closes the workflow. */
  failureType: string
}

export async function liveAsWork({ run, end, cancelled, messageOf, what, failureType }: Life): Promise<void> {
  try {
    await CancellationScope.cancellable(run)
  } catch (error) {
    const isCancel = wasCancelled(CancellationScope.current(), error)
    const message = isCancel ? cancelled : (messageOf?.(error) ?? ownersMessage(error) ?? unforeseen(what))
    await CancellationScope.nonCancellable(() => end({ isCancel, message }))
    // Closes as Canceled or as Failed, so that the Temporal UI shows the same end.
    throw isCancel ? new CancelledFailure(message) : ApplicationFailure.nonRetryable(message, failureType)
  }
}

const unforeseen = (what: string) => `An unexpected error ended the ${what}. Its workflow in Temporal has the details.`
