// The border of the workflows: queues, names, inputs, signals, search attributes.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineSignal } from '@temporalio/workflow'
import type { AttemptOutcome, Decision } from '../src/domain/attempt-outcome.ts'
import type { TrainingJobStatus } from '../src/domain/training-job-status.ts'

/** Workflows and short activities. */
export const taskQueue = 'anneal'
/** Activities that last as long as a run: thousands at once must not starve the short activities. */
export const watchTaskQueue = 'anneal-watch'
/** Chunks of batches: few at once, so that single requests still reach the engines. */
export const inferenceTaskQueue = 'anneal-inference'

export const reaperScheduleId = 'anneal-reaper'
export const retentionScheduleId = 'anneal-retention'
export const dailyRetentionScheduleId = 'anneal-retention-daily'

/** `continued`: what a run takes over from the one before it, which ended because its history had grown long. */
export type FineTuneInput = { jobId: number; generation: number; continued?: ContinuedFineTune }
export type Relaunch = Extract<Decision, { next: 'relaunch' }>
export type ContinuedFineTune = {
  attempt: number
  status: TrainingJobStatus | null
  /** Attempts that ended before; `outcomes` has those of them that later decisions look at. */
  endedCount: number
  outcomes: AttemptOutcome[]
  launch: Relaunch
}
/** How the job ended; the workflow closes as Completed, Canceled or Failed accordingly. */
export type FineTuneResult = { jobId: number; status: TrainingJobStatus; modelName: string | null; attempts: number }

export const cancelSignal = defineSignal<[{ generation: number }]>('cancel')
/** Sent with the start of each later generation: the history then shows that it continues a job. */
export const resumeSignal = defineSignal<[{ generation: number }]>('resume')
export const phaseSignal = defineSignal<[{ attempt: number; phase: string }]>('phase')
/** A workflow that waits for a slot asks again. `attempt` only informs readers of the history. */
export const slotSignal = defineSignal<[{ attempt: number }?]>('slot')
export const wakeSignal = defineSignal('wake')

/** Plain text in the Temporal UI: never a prompt or a row. */
export const searchAttributes = {
  account: defineSearchAttributeKey('AnnealAccount', SearchAttributeType.KEYWORD),
  baseModel: defineSearchAttributeKey('AnnealBaseModel', SearchAttributeType.KEYWORD),
  status: defineSearchAttributeKey('AnnealStatus', SearchAttributeType.KEYWORD),
  attempt: defineSearchAttributeKey('AnnealAttempt', SearchAttributeType.INT),
  reason: defineSearchAttributeKey('AnnealReason', SearchAttributeType.KEYWORD),
}

export type InferenceBatchInput = { batchId: string; chunkCount: number; ageLimitMs: number }

export type ModelServerInput = { baseModel: string; idleTimeoutMs: number }
