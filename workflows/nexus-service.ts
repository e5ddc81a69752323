// The Nexus service of Anneal, for workflows of other teams: an operation is a job of ours with Temporal's own semantics.
import { operation, service } from 'nexus-rpc'

/** Where the program src/nexus.ts waits for operations; the endpoint names it. */
export const nexusTaskQueue = 'anneal-nexus'

/** The fields of POST /v1/train. Rows are uploaded before: Temporal bounds the size of an input. */
export type FineTuneOrder = {
  model_name: string
  dataset_id?: string
  datasets?: { dataset_id: string; weight?: number }[]
  finetune_args?: Record<string, unknown>
  gpu_config?: { gpus?: number; nodes?: number }
  custom_model_name?: string
  skip_bad_rows?: boolean
  metadata?: Record<string, string>
}
/** `message` says why a job ended early with a model, as PARTIALLY COMPLETED. */
export type FineTuned = { job_id: number; status: string; model_name: string | null; message: string | null }

/** The fields of POST /v1/evaluations. */
export type EvaluationOrder = {
  models: string[]
  dataset_id: string
  graders?: unknown[]
  max_rows?: number
  max_tokens?: number
}
/** `summary` and `comparison` are those of GET /v1/evaluations/{id}. */
export type Evaluated = { id: string; status: string; summary: unknown; comparison: unknown }

export const annealService = service('anneal', {
  fineTune: operation<FineTuneOrder, FineTuned>(),
  evaluate: operation<EvaluationOrder, Evaluated>(),
})
