// Evaluations of models on a data set: accepted by a request, answered as batches, scored in chunks, summarised at the end.
import type { Chat } from './chat.ts'
import type { ChunkLocation } from './chunk-layout.ts'
import type { EvalRunRequest, RunSummary } from './eval-run.ts'
import type { Grader } from './grader.ts'
import type { ChatOptions } from './learned.ts'

export const evaluationStatuses = ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const
/** QUEUED: its rows are not chosen yet. */
export type EvaluationStatus = (typeof evaluationStatuses)[number]
export type EvaluationEnding = Extract<EvaluationStatus, 'FAILED' | 'CANCELLED'>

export const isOpenEvaluation = (status: EvaluationStatus) => status === 'QUEUED' || status === 'RUNNING'

export const evaluationLimits = { models: 8, rows: 2000, tokens: 4096 }
export const evaluationDefaults = { rows: 500, tokens: 256 }

/**
 * `name`: as the request calls the model; `modelName`: what the name meant when the request was accepted; `specialTokens`: whether
 * they act in prompts, absent for true; `chat`: how rows without messages are asked as chats, absent for plain prompts.
 */
export type EvaluatedModel = { name: string; modelName: string; specialTokens?: boolean; chat?: ChatOptions }

export type EvaluationRequest = {
  models: EvaluatedModel[]
  /** Null: chosen by the expected answers. */
  graders: Grader[] | null
  maxTokens: number
  /** As the request says; absent: each model is asked in the form that it learned. */
  asChat?: boolean
  /** The system message of all chats that have none of their own. */
  system?: string
  /** Rows that cannot be evaluated are left out; absent for no. */
  isSkipping?: boolean
  /** A run of an eval has this request instead of graders. */
  run?: EvalRunRequest
}

/** `note`: a sentence about the rows that are left out; null when there are none. */
export type SkippedRows = { count: number; note: string | null }

export type EvaluationPlan = {
  graders: Grader[]
  chunks: ChunkLocation[]
  /** One batch for each model, in the order of the request. None when the items bring their samples. */
  batchIds: string[]
  /** Conversations are among the rows, so all rows are asked as chats. */
  areChats?: boolean
  /** Absent when no rows are left out. */
  skipped?: SkippedRows
}

/** A mean with its 95 % interval. */
export type Interval = { mean: number; low: number; high: number }
/** `rows`: the rows that have a score. */
export type GraderSummary = Interval & { rows: number }
/** One model beside another on the same rows: how much better it is, and on how many rows. */
export type Comparison = { difference: Interval; better: number; equal: number; worse: number }

/** Figures of a job's evaluation, by grader; null where no row has a score. */
export type JobScores = Record<string, (Comparison & Record<'tuned' | 'base', GraderSummary>) | null>

/** By name of the model, then of the grader; null where no row has a score. Others are compared with the first model. */
export type EvaluationSummary = {
  models: Record<string, Record<string, GraderSummary | null>>
  comparison: Record<string, Record<string, Comparison | null>>
  run?: RunSummary
}

export type ModelEvaluation = {
  id: string
  accountId: string
  apiKeyId: string
  /** Null unless this is a run of an eval. */
  evalId: string | null
  datasetId: string
  dataKey: string
  request: EvaluationRequest
  maxRows: number
  status: EvaluationStatus
  /** Tells the owner why it failed; null otherwise. */
  message: string | null
  rowsKey: string | null
  rowCount: number | null
  plan: EvaluationPlan | null
  summary: EvaluationSummary | null
  createdAt: Date
  /** When its turn came; null while it waits. */
  grantedAt: Date | null
  finishedAt: Date | null
}

/** `chat`: the messages before the expected answer, of which `input` is the plain text. */
export type EvaluatedRow = { input: string; expected: string; chat?: Chat }

export const evaluationWorkflowPrefix = 'evaluation-'
export const evaluationWorkflowId = (evaluationId: string) => `${evaluationWorkflowPrefix}${evaluationId}`
