// One evaluation: chooses its rows, lets each model answer them as a batch, scores the answers, and summarises the scores.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  executeChild,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow'
import type { EvaluationBatch, ModelEvaluationActivities } from '../activities/model-evaluations.ts'
import { batchAgeLimitMs, inferenceBatchWorkflowId } from '../src/domain/inference-batch.ts'
import { retry, untilAWeek } from './activity-limits.ts'
import { inferenceTaskQueue, type InferenceBatchInput, type ModelEvaluationInput } from './contract.ts'
import { inferenceBatch } from './inference-batch.ts'
import { liveAsWork } from './durable-work.ts'
import { whileUnavailable } from './retry-unavailable.ts'

const batchIsRunningMs = 5000

const { prepareEvaluation, finishEvaluation } = proxyActivities<ModelEvaluationActivities>(untilAWeek)
// Graders may ask models.
const { scoreModel } = proxyActivities<ModelEvaluationActivities>({ ...untilAWeek, taskQueue: inferenceTaskQueue })
const { endEvaluation } = proxyActivities<ModelEvaluationActivities>({ startToCloseTimeout: '30 seconds', retry })

export const modelEvaluation = ({ evaluationId }: ModelEvaluationInput): Promise<void> =>
  liveAsWork({
    what: 'evaluation',
    failureType: 'EvaluationFailed',
    cancelled: 'The evaluation was cancelled.',
    messageOf: batchesMessage,
    run: () => evaluate(evaluationId),
    end: ({ isCancel, message }) =>
      endEvaluation({ evaluationId, ...(isCancel ? { status: 'CANCELLED' } : { status: 'FAILED', message }) }),
  })

async function evaluate(evaluationId: string) {
  const scope = CancellationScope.current()
  const batches = await prepareEvaluation({ evaluationId })
  let scoredCount = 0
  const answerAndScore = async (batch: EvaluationBatch, model: number) => {
    await answer(batch)
    await whileUnavailable(() => scoreModel({ evaluationId, model }))
    setCurrentDetails(`${++scoredCount} of ${batches.length} models are answered and scored`)
  }
  try {
    await Promise.all(batches.map(answerAndScore))
  } catch (error) {
    // An evaluation without one of its models is no comparison, so the other batches are cancelled.
    scope.cancel()
    throw error
  }
  await finishEvaluation({ evaluationId })
}

async function answer({ batchId, chunkCount }: EvaluationBatch): Promise<void> {
  if (batchId === null) return
  const input: InferenceBatchInput = { batchId, chunkCount, ageLimitMs: batchAgeLimitMs }
  const workflowId = inferenceBatchWorkflowId(batchId)
  for (;;) {
    try {
      // A batch that its evaluation has left goes on alone. The same batch can run again: finished chunks stay.
      const parentClosePolicy = ParentClosePolicy.ABANDON
      return await executeChild(inferenceBatch, { workflowId, args: [input], parentClosePolicy })
    } catch (error) {
      if (!isRunningAlready(error)) throw error
      await sleep(batchIsRunningMs)
    }
  }
}

const isRunningAlready = (error: unknown) => error instanceof WorkflowExecutionAlreadyStartedError

/** A batch closes with the sentence for its owner. */
function batchesMessage(error: unknown): string | null {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : null
  return cause instanceof ApplicationFailure && cause.type === 'BatchFailed' ? cause.message : null
}
