// The form of a new evaluation.
import type { components } from '../api/types.ts'

type Evaluation = components['schemas']['ModelEvaluation']
export type EvaluationRequest = components['schemas']['EvaluationRequest']
/** One without parameters has only its type. */
export type UsedGrader = { type: string; name?: string }

export type EvaluationForm = {
  models: readonly string[]
  datasetId: string
  /** Empty: chosen by the data. */
  graders: readonly UsedGrader[]
  /** As typed; empty for the default. */
  rows: string
  tokens: string
  /** Null: each model is asked in the form that it learned. */
  asChat: boolean | null
  /** Null: the message that the model learned. */
  system: string | null
  skipsBadRows: boolean
}

export const emptyEvaluation: EvaluationForm = {
  models: [],
  datasetId: '',
  graders: [],
  rows: '',
  tokens: '',
  asChat: null,
  system: null,
  skipsBadRows: false,
}

/** The form that makes the same evaluation again. */
export const formOfEvaluation = (evaluation: Evaluation): EvaluationForm => ({
  models: evaluation.model_names,
  datasetId: evaluation.dataset_id,
  graders: (evaluation.graders ?? []).map(({ name, ...grader }) =>
    name === grader.type ? grader : { ...grader, name },
  ),
  rows: String(evaluation.max_rows),
  tokens: String(evaluation.max_tokens),
  asChat: evaluation.as_chat,
  system: evaluation.system,
  skipsBadRows: evaluation.skipped_rows !== undefined,
})

export const evaluationRequestOf = (form: EvaluationForm): EvaluationRequest => ({
  models: [...form.models],
  dataset_id: form.datasetId,
  // The service checks the parameters.
  ...(form.graders.length > 0 && { graders: form.graders as NonNullable<EvaluationRequest['graders']> }),
  ...(form.rows !== '' && { max_rows: Number(form.rows) }),
  ...(form.tokens !== '' && { max_tokens: Number(form.tokens) }),
  ...(form.asChat !== null && { as_chat: form.asChat }),
  ...(form.system !== null && form.asChat !== false && { system: form.system }),
  ...(form.skipsBadRows && { skip_bad_rows: true }),
})
