// Bounds on a step. What a reinforcement job samples in it: its parts may each be large, their product may not; and what the
// engine of its model can sample. Of kto the fewest rows.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { answersPerPrompt } from '../../domain/method-table.ts'
import type { TrainingArgs, TrainingNote } from '../../domain/training-args.ts'
import { samplesPerPrompt, type TrainingMethod } from '../../domain/training-method.ts'

const at = (name: string) => `method.reinforcement.hyperparameters.${name}`
/** A step is one file and one list of grades. */
const mostAnswers = 16_384
const mostTokens = 2 ** 26

/** Tells that the bounds have changed what was asked for. */
export function notesOnAnswers({ hyperparameters }: TrainingMethod): TrainingNote[] {
  const { samples_per_prompt: asked, compute_multiplier: times } = hyperparameters
  const [product, samples] = [Math.round(Number(asked) * Number(times)), samplesPerPrompt(hyperparameters)]
  if (product === samples) return []
  const message = `samples_per_prompt ${asked} times compute_multiplier ${times} makes ${product} answers to a prompt. The job samples ${samples}, because ${answersPerPrompt.least} to ${answersPerPrompt.most} are allowed.`
  return [{ code: 'samples_bounded', message }]
}

/** KTO holds the answer of each row against the prompt of another row of its step. @throws ServiceError invalid_input */
export function requireRowsOfStep(
  { type, given }: TrainingMethod,
  { batch_size: batch, gradient_accumulation_steps: accumulation }: TrainingArgs,
): void {
  if (type !== 'kto' || batch * accumulation > 1) return
  const path = given.includes('batch_size') ? 'method.kto.hyperparameters.batch_size' : 'finetune_args.batch_size'
  throw invalidInput(path, 'batch_size must be at least 2 with the method kto.')
}

/** @throws ServiceError invalid_input */
export function requireBoundedSampling(
  { hyperparameters, given }: TrainingMethod,
  { batch_size: batch, gradient_accumulation_steps: accumulation }: TrainingArgs,
  entry: CatalogueEntry,
): void {
  const answers = batch * accumulation * samplesPerPrompt(hyperparameters)
  if (answers > mostAnswers)
    throw invalidInput(
      at('batch_size'),
      `A step would sample ${answers} answers, and may sample ${mostAnswers}. Use a smaller batch_size or samples_per_prompt.`,
    )
  const tokens = Number(hyperparameters['max_completion_tokens'])
  if (tokens > entry.contextLength && given.includes('max_completion_tokens'))
    throw invalidInput(
      at('max_completion_tokens'),
      `max_completion_tokens is ${tokens}, and the context of ${entry.name} has ${entry.contextLength} tokens.`,
    )
  if (hyperparameters['rollouts'] === 'server' && entry.engine === 'vllm' && hyperparameters['temperature'] !== 1)
    throw invalidInput(
      at('temperature'),
      `${entry.name} is served by vLLM, which tells the log-probabilities of its tokens at temperature 1 only. Use temperature 1, or rollouts "inline".`,
    )
  if (answers * tokens > mostTokens)
    throw invalidInput(
      at('max_completion_tokens'),
      `A step would sample up to ${answers * tokens} tokens, and may sample ${mostTokens}. Use fewer or shorter answers.`,
    )
}
