// One durable batch: its chunks, a few at once, then its end. An engine that is away is waited for, within reason.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  proxyActivities,
  setCurrentDetails,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow'
import type { InferenceBatchActivities } from '../activities/inference-batches.ts'
import { inferenceTaskQueue, type InferenceBatchInput } from './contract.ts'
import { wasCancelled } from './was-cancelled.ts'

/** The engine itself works on several pieces of a chunk at once; the second chunk fills its last moments. */
const concurrency = 2
/** Of one chunk, each after a minute at most: about a quarter of an hour with what the waiting itself takes. */
const mostTries = 12
const firstBackOffMs = 2000
const longestBackOffMs = 60_000

/** Unreachable databases and stores are waited out, as long as the batch may take: they say nothing about the batch. */
const retry = { initialInterval: '200 milliseconds', maximumInterval: '10 seconds', backoffCoefficient: 2 } as const
const limits = { startToCloseTimeout: '1 day', heartbeatTimeout: '12 seconds', retry } as const

const { runBatchChunk } = proxyActivities<InferenceBatchActivities>({ ...limits, taskQueue: inferenceTaskQueue })
const { finishBatch } = proxyActivities<InferenceBatchActivities>({ ...limits, summary: 'store the result' })
const { failBatch } = proxyActivities<InferenceBatchActivities>({ startToCloseTimeout: '30 seconds', retry })

export async function inferenceBatch(input: InferenceBatchInput): Promise<void> {
  const { batchId } = input
  try {
    await CancellationScope.cancellable(() => runChunks(input))
    await finishBatch({ batchId })
  } catch (error) {
    const isCancel = wasCancelled(CancellationScope.current(), error)
    const message = isCancel ? 'The batch was cancelled by an operator.' : messageOf(error)
    await CancellationScope.nonCancellable(() => failBatch({ batchId, message }))
    // Closes as Canceled or as Failed, so that the Temporal UI reads right.
    throw isCancel ? new CancelledFailure(message) : ApplicationFailure.nonRetryable(message, 'BatchFailed')
  }
}

async function runChunks({ batchId, chunkCount, ageLimitMs }: InferenceBatchInput) {
  const scope = CancellationScope.current()
  const chunks = Array.from({ length: chunkCount }, (_, chunk) => chunk).values()
  let doneCount = 0
  const drain = async () => {
    for (const chunk of chunks) {
      await runChunk({ batchId, chunk }, ageLimitMs)
      setCurrentDetails(`${++doneCount} of ${chunkCount} chunks are done`)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, chunkCount) }, drain))
  } catch (error) {
    // One failed prompt fails the batch: the others' work is in vain.
    scope.cancel()
    throw error
  }
}

async function runChunk(work: { batchId: string; chunk: number }, ageLimitMs: number | undefined): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const options = { summary: `chunk ${work.chunk}`, ...withinAge(ageLimitMs) }
      return await runBatchChunk.executeWithOptions(options, [work])
    } catch (error) {
      if (!isUnavailable(error) || tries >= mostTries) throw error
      await sleep(Math.min(firstBackOffMs * 2 ** (tries - 1), longestBackOffMs))
    }
  }
}

/** Counts the wait for a turn and all tries. */
function withinAge(ageLimitMs: number | undefined) {
  if (ageLimitMs === undefined) return {}
  const leftMs = workflowInfo().startTime.getTime() + ageLimitMs - Date.now()
  return { scheduleToCloseTimeout: Math.max(1, leftMs) }
}

const isUnavailable = (error: unknown) =>
  error instanceof ActivityFailure &&
  error.cause instanceof ApplicationFailure &&
  error.cause.type === 'ModelUnavailable'

/** By the clock, or as the next try would come too late. */
const isTooOld = (error: unknown) =>
  error instanceof ActivityFailure && (error.cause instanceof TimeoutFailure || error.retryState === 'TIMEOUT')

function messageOf(error: unknown): string {
  if (isTooOld(error)) return 'The batch was not worked off within the time that a batch may take; send it again.'
  const cause = error instanceof ActivityFailure ? error.cause : error
  const isForOwner = cause instanceof ApplicationFailure && ['Refused', 'ModelUnavailable'].includes(cause.type ?? '')
  return isForOwner ? cause.message : 'An unforeseen error ended the batch; its workflow in Temporal has the details.'
}
