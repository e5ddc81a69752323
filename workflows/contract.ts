// The border of the workflows: queues, names, inputs, signals, search attributes.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow'
import type { AttemptOutcome, Decision } from '../src/domain/attempt-outcome.ts'
import type { TrainingJobStatus } from '../src/domain/training-job-status.ts'

/** Workflows and short activities. */
export const taskQueue = 'anneal'
/** Activities that last as long as a run: thousands at once must not starve the short activities. */
export const watchTaskQueue = 'anneal-watch'
/** Chunks of batches: few at once, so that single requests still reach the engines. */
export const inferenceTaskQueue = 'anneal-inference'
/** Merges of models: a whole model in memory each, so two at once for each worker. */
export const exportTaskQueue = 'anneal-export'

/** Workflow ids of the housekeeping. Each has one open execution, for ever. */
export const reaperWorkflowId = 'anneal-reaper'
export const retentionWorkflowId = 'anneal-retention'
export const dailyRetentionWorkflowId = 'anneal-retention-daily'
/** What a run of the housekeeping takes over from the one before it. */
export type RoundsInput = { isPaused?: boolean; isAsked?: boolean }
/** To the housekeeping: begin a round at once, also while paused. */
export const runNowSignal = defineSignal('runNow')
/** To the housekeeping: true stops further rounds, false goes on. */
export const setPausedSignal = defineSignal<[boolean]>('setPaused')

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
/** Only shown: nothing is decided by it. */
export const waitSignal = defineSignal<[ShownWait]>('wait')
export const wakeSignal = defineSignal('wake')

/** What the workflow knows of its job. Losses and steps are in the heartbeat of the pending `watchAttempt`. */
export const statusQuery = defineQuery<ShownStatus & { generation: number }>('status')
export const progressQuery = defineQuery<FineTuneProgress>('progress')
export const nextActionQuery = defineQuery<string>('nextAction')
/** Answers once the cancel is accepted, as the API does; the release follows. */
export const cancelUpdate = defineUpdate<AcceptedCancel>('cancel')

/** Why an attempt waits, with its place in the line as a sentence. */
export type ShownWait = { attempt: number; reason: string; message: string }
export type ShownStatus = { status: TrainingJobStatus; attempt: number; reason: string | null; message: string | null }
/** `since`: ISO times at which the workflow saw a status for the first time, newest last, at most 50. */
export type FineTuneProgress = {
  attempt: number
  endedAttempts: number
  since: { status: TrainingJobStatus; at: string }[]
}
/** `accepted`: false when the job has ended; then `status` and `message` tell how. */
export type AcceptedCancel = { accepted: boolean; status: TrainingJobStatus; message: string | null }

/** Plain text in the Temporal UI: never a prompt or a row. */
export const searchAttributes = {
  account: defineSearchAttributeKey('AnnealAccount', SearchAttributeType.KEYWORD),
  baseModel: defineSearchAttributeKey('AnnealBaseModel', SearchAttributeType.KEYWORD),
  status: defineSearchAttributeKey('AnnealStatus', SearchAttributeType.KEYWORD),
  attempt: defineSearchAttributeKey('AnnealAttempt', SearchAttributeType.INT),
  reason: defineSearchAttributeKey('AnnealReason', SearchAttributeType.KEYWORD),
}

export type InferenceBatchInput = { batchId: string; chunkCount: number; ageLimitMs: number }

export type ModelEvaluationInput = { evaluationId: string }

export type ModelExportInput = { exportId: string }

export type ModelServerInput = { baseModel: string; idleTimeoutMs: number }
