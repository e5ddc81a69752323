// Answers of a JSON schema. The grammar shares out the tokens that there are, so that the answer is whole before they run out,
// and every answer is checked before it is returned.
import type { AnswerSchema } from '../domain/answer-schema/nodes.ts'
import { fitsSchema } from '../domain/answer-schema/fits.ts'
import { leastBytes, type Prices } from '../domain/answer-schema/least-bytes.ts'
import type { AnswerShape, CallsShape } from '../domain/answer-shape.ts'
import type { CatalogueEntry } from '../domain/catalogue.ts'
import { invalidInput, type ServiceError } from '../domain/service-error.ts'
import { certain, GrammarTooLarge, roundDown, usual, writeGrammar } from './answer-grammar/write-grammar.ts'
import { createWeights } from './answer-grammar/sizes.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import { countTokens, type Choice, type EngineGrammar } from './engine-client.ts'
import { generate, type GenerationInput } from './generation.ts'
import { answerTooLong, tooComplex } from './input-errors.ts'
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
/** Characters for each value below which it is better to count on usual tokens than to be certain. */
const comfortableCharacters = 64

export async function completeShaped(servers: Servers, input: ShapedInput, shape: TextShape): Promise<Completions> {
  const { prompts } = input
  if (shape.kind === 'schema') {
    const answers = await Promise.all(prompts.map((_, index) => completeSchema(servers, input, shape.schema, index)))
    return completionsOf(answers)
  }
  const grammar: EngineGrammar = shape.kind === 'regex' ? { regex: shape.regex } : { grammar: shape.grammar }
  const maxTokens = Math.min(input.sampling.maxTokens ?? defaultTokens, input.baseModel.contextLength)
  const rows = prompts.map((prompt, index) => ({ index, prompt }))
  return completionsOf(
    await generate(servers, input, [{ rows, grammar, maxTokens, isCallers: true }], input.sampling.seed),
  )
}

const completionsOf = (choices: readonly Choice[]): Completions => ({
  outputs: choices.map(({ text }) => ({ output: text })),
  finishReasons: choices.map(({ finishReason }) => finishReason),
})

async function completeSchema(
  servers: Servers,
  input: ShapedInput,
  schema: AnswerSchema,
  index: number,
): Promise<Choice> {
  const { baseModel, prompts, sampling, answerTokens = null, onText } = input
  const least = leastTokens(schema)
  if (answerTokens !== null && answerTokens < least) throw budgetTooSmall(least)
  const left = baseModel.contextLength - (await countPrompt(servers, input, index))
  if (left < least) throw answerTooLong(baseModel, index)
  const room = Math.min(left, answerTokens ?? defaultTokens)
  const tries = planTries(schema, room)
  for (const [round, { tokens, prices }] of tries.entries()) {
    const grammar = { grammar: whileSmallEnough(baseModel, () => writeGrammar(schema, tokens, prices)) }
    const rows = [{ index: 0, prompt: prompts[index] ?? '' }]
    const seed = sampling.seed === null ? null : sampling.seed + round
    const [choice] = await generate(servers, input, [{ rows, grammar, maxTokens: room }], seed)
    if (!choice) break
    if (choice.finishReason !== 'length' && fitsSchema(schema, choice.text)) return choice
    if (choice.finishReason === 'length' && (onText || round === tries.length - 1)) return choice
    // A text that was passed on cannot be asked for again.
    if (onText) break
  }
  throw new Error(`${baseModel.name} returned an answer that its grammar forbids.`)
}

type Try = { tokens: number; prices: Prices }

/** An answer that ran out of tokens is asked for again with half of them. The last answer is one that fits however the model
 * spells it, or where no answer does, the shortest one. */
function planTries(schema: AnswerSchema, room: number): Try[] {
  // One token is for the end.
  const tokens = roundDown(room - 1)
  const leastOf = (prices: Prices) => leastBytes(schema, prices)[schema.root] ?? Infinity
  const comfortable = leastOf(certain) + createWeights(schema)(schema.root) * comfortableCharacters * certain.character
  if (comfortable <= tokens) return [{ tokens, prices: certain }]
  const longer = [tokens, tokens / 2].filter((each) => each > leastOf(usual))
  const last = leastOf(certain) <= tokens ? { tokens, prices: certain } : { tokens: leastOf(usual), prices: usual }
  return [...longer.map((each) => ({ tokens: each, prices: usual })), last]
}

/** The least tokens of an answer when each holds a few characters, with one for the end. */
const leastTokens = (schema: AnswerSchema) => Math.ceil((leastBytes(schema)[schema.root] ?? 0) / 4) + 1

export async function countPrompt(servers: Servers, input: ShapedInput, index: number): Promise<number> {
  const { baseModel, adapter, accountId, meter, messages, tools, prompts, textLengths, signal } = input
  const prompt = prompts[index] ?? ''
  const target = { baseModel, adapter, accountId, meter }
  const { count } = await onServer(servers, target, workOf([prompt], 0), signal, (endpoint, model, callSignal) =>
    countTokens(endpoint, { model, prompt, textLength: textLengths?.[index] ?? 0, messages, tools }, callSignal),
  )
  return count
}

/** @throws ServiceError invalid_input for a grammar that is too large */
export function whileSmallEnough(baseModel: CatalogueEntry, write: () => string): string {
  try {
    return write()
  } catch (error) {
    if (error instanceof GrammarTooLarge) throw invalidInput('output_type', tooComplex(baseModel))
    throw error
  }
}

const budgetTooSmall = (least: number): ServiceError =>
  invalidInput('max_tokens', `max_tokens must be at least ${least} for this output_type.`)
