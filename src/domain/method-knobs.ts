// What the tables of methods say of a method.

export type Knob = {
  description: string
  /** Whether OpenAI has this hyperparameter. */
  isOpenAi?: boolean
  /** Whether the trainer needs no value of it. */
  isForService?: boolean
  /** The losses that read it; absent where all of them do. */
  lossTypes?: readonly string[]
} & (
  | { default: number | 'auto'; minimum: number; maximum: number; isWhole?: boolean }
  /** `otherwise`: why there is no other choice. */
  | { default: string; choices: readonly string[]; otherwise?: string }
  | { default: boolean }
  /** Another name of an argument of the training, a whole number. */
  | { default: 'auto'; minimum: number; maximum: number; argument: 'eval_steps' }
)

export type MethodTable = {
  hyperparameters: Record<string, Knob>
  /** Other defaults of some losses. */
  defaultsByLossType: Record<string, Record<string, number | string>>
  /** Data that reads as rows of these methods may be trained on. */
  takesRowsOf: readonly string[]
  /** Figures of a step that only this method has, by their names in TRL. */
  series: readonly string[]
  /** Rows of a step when the request names none; absent for the default of `finetune_args`. */
  batchSize?: number
  /** The learning rate when none is given is that of the model, times this. */
  rateFactor: number
}
