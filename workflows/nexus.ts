// One Nexus operation: orders a job or an evaluation for the caller, waits for its end, and cancels it if the caller does.
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow'
import type { NexusActivities, Order, Shown } from '../activities/nexus.ts'
import { retry } from './activity-limits.ts'
import type { Evaluated, EvaluationOrder, FineTuned, FineTuneOrder } from './nexus-service.ts'

// The service keeps the key of an order for 24 hours: later an order that is repeated would make a second job.
const { order } = proxyActivities<NexusActivities>({
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '20 hours',
  retry,
})
const { cancelOrder } = proxyActivities<NexusActivities>({ startToCloseTimeout: '30 seconds', retry })
const { untilEnded } = proxyActivities<NexusActivities>({
  startToCloseTimeout: '365 days',
  heartbeatTimeout: '12 seconds',
  retry,
})

export async function nexusFineTune(body: FineTuneOrder): Promise<FineTuned> {
  const { job_id, status, model_name, status_message } = await fulfil({ kind: 'fineTune', body })
  return { job_id: Number(job_id), status, model_name: model_name ?? null, message: status_message ?? null }
}

export async function nexusEvaluate(body: EvaluationOrder): Promise<Evaluated> {
  const { id, status, summary, comparison } = await fulfil({ kind: 'evaluate', body })
  return { id: String(id), status, summary, comparison }
}

/** @throws CancelledFailure after the caller's cancel, ApplicationFailure when there is no result */
async function fulfil(ordered: Order): Promise<Shown> {
  const { kind } = ordered
  // A cancel that arrives meanwhile must still learn which job to cancel.
  const id = await CancellationScope.nonCancellable(() => order({ ...ordered, key: workflowInfo().workflowId }))
  try {
    const ended = await untilEnded({ kind, id })
    if (ended.status === 'COMPLETED' || ended.status === 'PARTIALLY COMPLETED') return ended
    throw failureOf(ordered, id, ended)
  } catch (error) {
    if (!isCancellation(error)) throw error
    return await CancellationScope.nonCancellable(async () => {
      await cancelOrder({ kind, id })
      const ended = await untilEnded({ kind, id })
      if (ended.status === 'COMPLETED' || ended.status === 'PARTIALLY COMPLETED') return ended
      throw new CancelledFailure(`${id} is ${ended.status}`)
    })
  }
}

function failureOf({ kind }: Order, id: string, { status, status_message, message }: Shown) {
  const noun = kind === 'fineTune' ? 'training job' : 'evaluation'
  const why = status_message ?? message
  return ApplicationFailure.nonRetryable(
    `The ${noun} ${id} is ${status}.${why ? ` ${why}` : ''}`,
    status === 'CANCELLED' ? 'Cancelled' : 'Failed',
    { id, status },
  )
}
