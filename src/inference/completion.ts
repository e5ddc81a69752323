// Prompts in, answers out: one answer per prompt in order, or one error.
import type { AnswerShape } from '../domain/answer-shape.ts'
import type { OutputType } from '../domain/output-type.ts'
import { isText, type Prompt } from '../domain/prompt.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import { generate, type GenerationInput } from './generation.ts'
import { promptTooLong } from './input-errors.ts'
import type { Servers } from './call-with-failover.ts'
import { completeCalls } from './calls-completion.ts'
import { completeShaped } from './shaped-completion.ts'
import { completeTyped, type Completions } from './typed-completion.ts'

export type CompletionInput = GenerationInput & {
  prompts: readonly Prompt[]
  /** Null: plain text. */
  outputType: OutputType | null
  /** Asks for a text of this shape. */
  shape?: AnswerShape | null
  /** Bounds all tokens of a typed answer, not only its texts. */
  answerTokens?: number | null
}

const defaultMaxTokens = 256

/** Looks at the lengths only. @throws ServiceError invalid_input for a prompt that is certainly too long */
export function requireShort({ baseModel, prompts }: Pick<CompletionInput, 'baseModel' | 'prompts'>) {
  const { contextLength } = baseModel
  const most = (prompt: Prompt) => (isText(prompt) ? maxTextCharacters(contextLength) : contextLength)
  const tooLong = prompts.findIndex((prompt) => prompt.length > most(prompt))
  if (tooLong >= 0) throw promptTooLong(baseModel, tooLong)
}

/** An untyped output is `{output}`. */
export async function complete(servers: Servers, input: CompletionInput): Promise<Completions> {
  const { outputType, shape = null, prompts, sampling, baseModel } = input
  requireShort(input)
  const asked = { ...input, prompts: prompts.filter(isText) }
  if (outputType) return completeTyped(servers, { ...asked, outputType })
  if (shape)
    return shape.kind === 'calls' ? completeCalls(servers, asked, shape) : completeShaped(servers, asked, shape)
  const maxTokens = Math.min(sampling.maxTokens ?? defaultMaxTokens, baseModel.contextLength)
  const rows = prompts.map((prompt, index) => ({ index, prompt }))
  const choices = await generate(servers, input, [{ rows, grammar: null, maxTokens }], sampling.seed)
  return {
    outputs: choices.map(({ text }) => ({ output: text })),
    finishReasons: choices.map(({ finishReason }) => finishReason),
    ...(sampling.extras?.logprobs !== undefined && { logprobs: choices.map(({ logprobs }) => logprobs) }),
  }
}
