// What the rest of the system knows of the workflows: queues, names, inputs, signals, search attributes.
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common'
import { defineSignal } from '@temporalio/workflow'
import type { TrainingJobStatus } from '../src/domain/training-job-status.ts'

/** Workflows and short activities. */
export const taskQueue = 'anneal'
/** Activities that last as long as a run: thousands at once must not starve the short ones. */
export const watchTaskQueue = 'anneal-watch'
/** Chunks of batches: few at once, so that they do not crowd out single requests at the engines. */
export const inferenceTaskQueue = 'anneal-inference'

export const reaperScheduleId = 'anneal-reaper'
export const housekeepingScheduleId = 'anneal-housekeeping'

export type FineTuneInput = { jobId: number; generation: number }
/** How the job ended; the workflow closes as Completed, Canceled or Failed accordingly. */
export type FineTuneResult = { jobId: number; status: TrainingJobStatus; modelName: string | null; attempts: number }

export const cancelSignal = defineSignal<[{ generation: number }]>('cancel')
/** Sent with the start of each further run: who opens the history sees that it continues a job. */
export const resumeSignal = defineSignal<[{ generation: number }]>('resume')
export const phaseSignal = defineSignal<[{ attempt: number; phase: string }]>('phase')
/** Who waits for a slot looks again: its newest attempt, named for who reads the history, may have got one. */
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

/** Batches that began before there was an age limit have none. */
export type InferenceBatchInput = { batchId: string; chunkCount: number; ageLimitMs?: number }

export type ModelServerInput = { baseModel: string; idleTimeoutMs: number }
