// Steps of a training, as the trainer counts them (training_args.py and batches.py).
import type { TrainingArgs } from './training-args.ts'
import type { TrainingMethod } from './training-method.ts'

type Method = Pick<TrainingMethod, 'hyperparameters'> | null | undefined

/** Steps of a run over this many rows. A method may make several updates on the same rows, and each is a step. */
export function totalSteps(
  args: Pick<TrainingArgs, 'max_steps' | 'num_train_epochs' | 'batch_size' | 'gradient_accumulation_steps'>,
  rowCount: number,
  method?: Method,
): { steps: number; epochs: number } {
  const updates = Number(method?.hyperparameters['num_iterations'] ?? 1)
  const stepsPerEpoch = Math.ceil(rowCount / (args.batch_size * args.gradient_accumulation_steps)) * updates
  const steps =
    args.num_train_epochs === null ? args.max_steps : Math.max(Math.ceil(args.num_train_epochs * stepsPerEpoch), 1)
  return { steps, epochs: steps / stepsPerEpoch }
}

type StepsOf = { args: TrainingArgs; trainRows: number | null; method?: Method }

/** The steps of a job. Null before its data is checked, unless the steps do not depend on it. */
export function stepsOf({ args, trainRows, method }: StepsOf): number | null {
  if (trainRows === null && args.num_train_epochs !== null) return null
  return totalSteps(args, trainRows ?? 0, method).steps
}

/** Steps from one validation to the next, by default in full tens. */
export const stepsBetweenValidations = ({ eval_steps }: Pick<TrainingArgs, 'eval_steps'>, steps: number): number =>
  eval_steps ?? Math.ceil(steps / 100) * 10
