// A step of a training, as its trainer reports it.

/**
 * `loss` is per target token of this step; times are in seconds; `flops` is cumulative. The fields of a validation are
 * present at the steps after which one was made, means over the target tokens of `valid_rows` held-out rows.
 */
export type TrainingStep = {
  step: number
  loss: number
  learning_rate: number
  epoch: number
  iter_time: number
  flops: number
  remaining_time: number
  /** Trained on since the first step. */
  tokens?: number | undefined
  /** Before the clipping. */
  grad_norm?: number | undefined
  tokens_per_second?: number | undefined
  /** The share of the step's target tokens that the model predicts right. */
  token_accuracy?: number | undefined
  valid_loss?: number | undefined
  valid_token_accuracy?: number | undefined
  valid_rows?: number | undefined
  /** Figures that only some methods of training have, by their names in TRL. */
  series?: Record<string, number> | undefined
}
