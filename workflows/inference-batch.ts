// One durable batch: runs its chunks, a few at once, then stores the result. Waits about a quarter of an hour for an engine.
import { CancellationScope, proxyActivities, setCurrentDetails } from '@temporalio/workflow'
import type { InferenceBatchActivities } from '../activities/inference-batches.ts'
import { batchCancelled } from '../src/domain/inference-batch.ts'
import { untilDone } from './activity-limits.ts'
import { inferenceTaskQueue, type InferenceBatchInput } from './contract.ts'
import { liveAsWork } from './durable-work.ts'
import { whileUnavailable } from './retry-unavailable.ts'

/** The engine works on several pieces of a chunk at once; the second chunk keeps it busy while the first one ends. */
const concurrency = 2

const { runBatchChunk } = proxyActivities<InferenceBatchActivities>({ ...untilDone, taskQueue: inferenceTaskQueue })
const { finishBatch } = proxyActivities<InferenceBatchActivities>({ ...untilDone, summary: 'store the result' })
// A batch of requests that ends early writes its files first.
const { failBatch } = proxyActivities<InferenceBatchActivities>(untilDone)

export const inferenceBatch = (input: InferenceBatchInput): Promise<void> =>
  liveAsWork({
    what: 'batch',
    failureType: 'BatchFailed',
    cancelled: batchCancelled,
    async run() {
      await runChunks(input)
      await finishBatch({ batchId: input.batchId })
    },
    end: ({ message }) => failBatch({ batchId: input.batchId, message }),
  })

async function runChunks({ batchId, chunkCount, ageLimitMs }: InferenceBatchInput) {
  const scope = CancellationScope.current()
  const chunks = Array.from({ length: chunkCount }, (_, chunk) => chunk).values()
  let doneCount = 0
  const drain = async () => {
    for (const chunk of chunks) {
      await runChunk({ batchId, chunk, ageLimitMs })
      setCurrentDetails(`${++doneCount} of ${chunkCount} chunks are done`)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, chunkCount) }, drain))
  } catch (error) {
    // A batch without one of its chunks is no result, so the other chunks are cancelled.
    scope.cancel()
    throw error
  }
}

/** The activity knows when the first chunk began. A wait for a turn has no limit. */
const runChunk = (work: { batchId: string; chunk: number; ageLimitMs: number }): Promise<void> =>
  whileUnavailable(() => runBatchChunk.executeWithOptions({ summary: `chunk ${work.chunk}` }, [work]))
