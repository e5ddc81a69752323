// Answers of a JSON schema. The grammar shares out the tokens that there are, so that the answer is whole before they run out,
// and every answer is checked before it is returned.
import type { AnswerShape, CallsShape, SchemaShape, AskedSchema } from '../domain/answer-shape.ts'
import { invalidInput, type ServiceError } from '../domain/service-error.ts'
import { TooComplex } from './answer-grammar/rules.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import { countTokens, type Choice, type EngineGrammar } from './engine-client.ts'
import { generate, type GenerationInput } from './generation.ts'
import { answerTooLong, tooComplex } from './input-errors.ts'
import type { OperationName } from './schema-operations.ts'
import type { OperationCall, OperationResult } from './schema-threads.ts'
import { workOf } from './text-bounds.ts'
import type { Completions } from './typed-completion.ts'

type TextShape = Exclude<AnswerShape, CallsShape>
export type ShapedInput = GenerationInput & {
  prompts: readonly string[]
  /** Bounds all tokens of an answer. */
  answerTokens?: number | null
}

/** Tokens of an answer whose caller names no limit. */
export const defaultTokens = 2048

export async function completeShaped(servers: Servers, input: ShapedInput, shape: TextShape): Promise<Completions> {
  const { prompts } = input
  if (shape.kind === 'schema') {
    const answers = await Promise.all(prompts.map((_, index) => completeSchema(servers, input, shape, index)))
    return completionsOf(answers)
  }
  const grammar: EngineGrammar = shape.kind === 'regex' ? { regex: shape.regex } : { grammar: asCallers(shape.grammar) }
  const maxTokens = Math.min(input.sampling.maxTokens ?? defaultTokens, input.baseModel.contextLength)
  const rows = prompts.map((prompt, index) => ({ index, prompt }))
  return completionsOf(
    await generate(servers, input, [{ rows, grammar, maxTokens, isCallers: true }], input.sampling.seed),
  )
}

/** The engine lets grammars that begin as ours do force text, because ours bound the length of their answers. */
const asCallers = (grammar: string) => grammar.replace(/^%llguidance/, '\n$&')

const completionsOf = (choices: readonly Choice[]): Completions => ({
  outputs: choices.map(({ text }) => ({ output: text })),
  finishReasons: choices.map(({ finishReason }) => finishReason),
})

async function completeSchema(
  servers: Servers,
  input: ShapedInput,
  shape: SchemaShape<AskedSchema>,
  index: number,
): Promise<Choice> {
  const { baseModel, prompts, sampling, answerTokens = null, onText } = input
  const work = workOn(servers, input)
  const least = await work('leastOfAnswer', shape, null)
  if (answerTokens !== null && answerTokens < least) throw budgetTooSmall(least)
  const left = baseModel.contextLength - (await countPrompt(servers, input, index))
  if (left < least) throw answerTooLong(baseModel, index)
  const room = Math.min(left, answerTokens ?? defaultTokens)
  const tries = await work('planTries', shape, room)
  for (const [round, each] of tries.entries()) {
    const grammar = { grammar: await work('writeAnswer', shape, each) }
    const rows = [{ index: 0, prompt: prompts[index] ?? '' }]
    const seed = sampling.seed === null ? null : sampling.seed + round
    const [choice] = await generate(servers, input, [{ rows, grammar, maxTokens: room }], seed)
    if (!choice) break
    if (choice.finishReason !== 'length' && (await work('fitsAnswer', shape, choice.text))) return choice
    if (choice.finishReason === 'length' && (onText || round === tries.length - 1)) return choice
    // A text that was passed on cannot be asked for again.
    if (onText) break
  }
  throw new Error(`${baseModel.name} returned an answer that its grammar forbids.`)
}

export async function countPrompt(servers: Servers, input: ShapedInput, index: number): Promise<number> {
  const { baseModel, adapter, accountId, meter, messages, tools, prompts, textLengths, signal } = input
  const prompt = prompts[index] ?? ''
  const target = { baseModel, adapter, accountId, meter }
  const { count } = await onServer(servers, target, workOf([prompt], 0), signal, (endpoint, model, callSignal) =>
    countTokens(endpoint, { model, prompt, textLength: textLengths?.[index] ?? 0, messages, tools }, callSignal),
  )
  return count
}

/** @returns what works on the schemas of a request. It throws ServiceError invalid_input for those that are too complex. */
export function workOn({ schemas }: Servers, { baseModel, accountId, signal }: ShapedInput) {
  return async <Name extends OperationName>(...call: OperationCall<Name>): Promise<OperationResult<Name>> => {
    try {
      return await schemas.run({ accountId, signal }, ...call)
    } catch (error) {
      throw error instanceof TooComplex ? invalidInput('output_type', tooComplex(baseModel)) : error
    }
  }
}

const budgetTooSmall = (least: number): ServiceError =>
  invalidInput('max_tokens', `max_tokens must be at least ${least} for this output_type.`)
