// One evaluation: chooses its rows, lets each model answer them as a batch, scores the answers, and summarises the scores.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
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
import { ownersMessage, whileUnavailable } from './retry-unavailable.ts'
import { wasCancelled } from './was-cancelled.ts'

const batchIsRunningMs = 5000

const { prepareEvaluation, finishEvaluation } = proxyActivities<ModelEvaluationActivities>(untilAWeek)
// Graders may ask models.
const { scoreModel } = proxyActivities<ModelEvaluationActivities>({ ...untilAWeek, taskQueue: inferenceTaskQueue })
const { endEvaluation } = proxyActivities<ModelEvaluationActivities>({ startToCloseTimeout: '30 seconds', retry })

export async function modelEvaluation({ evaluationId }: ModelEvaluationInput): Promise<void> {
  try {
    await CancellationScope.cancellable(() => evaluate(evaluationId))
  } catch (error) {
    const isCancel = wasCancelled(CancellationScope.current(), error)
    const message = isCancel ? 'The evaluation was cancelled.' : messageOf(error)
    const ending = isCancel ? ({ status: 'CANCELLED' } as const) : ({ status: 'FAILED', message } as const)
    await CancellationScope.nonCancellable(() => endEvaluation({ evaluationId, ...ending }))
    throw isCancel ? new CancelledFailure(message) : ApplicationFailure.nonRetryable(message, 'EvaluationFailed')
  }
}

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

function messageOf(error: unknown): string {
  // A batch closes with the sentence for its owner.
  const ofBatch =
    error instanceof ChildWorkflowFailure && error.cause instanceof ApplicationFailure ? error.cause : null
  const message = ofBatch?.type === 'BatchFailed' ? ofBatch.message : ownersMessage(error)
  return message ?? 'An unexpected error ended the evaluation. Its workflow in Temporal has the details.'
}
