// The API's answers about jobs. Some builds of the service lack the fields with a `?`.
import type { components } from './types.ts'

type Schemas = components['schemas']

export type Progress = {
  step: number
  of: number | null
  percent: number | null
  tokens?: number | null
  tokens_per_second?: number | null
  remaining_seconds?: number | null
}

type Details = {
  base_model?: string
  finetune_args?: Record<string, unknown>
  finetune_args_defaults?: string[] | null
  gpu_config?: { gpus: number; nodes: number }
  started_at?: string | null
  finished_at?: string | null
  queue?: { place: number | null; ahead: number | null; reason: string | null; message: string | null } | null
  progress?: Progress | null
  dataset?: { id: string; rows: number | null; train_rows?: number | null }
  attempts?: { count: number; gpu_seconds?: number }
  links?: { temporal_ui?: string | null }
  metadata?: Record<string, string>
  integrations?: { tracking_uri: string }[]
}

export type JobSummary = Omit<Schemas['TrainingJobSummary'], keyof Details> & Details
export type Job = Omit<Schemas['TrainingJob'], keyof Details> & Details
export type JobEvent = Schemas['TrainingJobEventList']['events'][number]
export type Attempt = Schemas['AttemptList']['attempts'][number]
export type Evaluation = Schemas['Evaluation']
export type EvaluatedRow = Evaluation['eval_results'][number]
