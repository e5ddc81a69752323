// Answers of a JSON schema, or of the caller's own grammar. The grammar of a schema shares out the tokens that there are, so that
// the answer is whole before they run out, and every answer is checked before it is returned.
import type { AskedSchema, CallsShape, GrammarShape, SchemaShape } from '../domain/answer-shape.ts'
import { invalidInput, type ServiceError } from '../domain/service-error.ts'
import type { Accepted, Generate } from './accept.ts'
import { TooComplex } from './answer-grammar/rules.ts'
import { countPrompt } from './count-tokens.ts'
import { answerTooLong, tooComplex } from './input-errors.ts'
import {
  promptsOf,
  type Bounded,
  type Choice,
  type Completions,
  type CompletionRequest,
  type EngineGrammar,
} from './request.ts'
import type { OperationName } from './schema-operations.ts'
import type { OperationCall, OperationResult } from './schema-threads.ts'

type SchemaRequest = Accepted<CompletionRequest<Bounded<SchemaShape<AskedSchema>>>>

/** Tokens of an answer whose caller names no limit. */
export const defaultTokens = 2048

/** An answer in the caller's own grammar may end unfinished: nothing bounds it but its tokens. */
export async function completeGrammar(
  request: Accepted<CompletionRequest<Bounded<GrammarShape>>>,
  generate: Generate,
): Promise<Completions> {
  const { answer, baseModel, input, sampling } = request
  const grammar: EngineGrammar =
    answer.kind === 'regex' ? { regex: answer.regex } : { grammar: asCallers(answer.grammar) }
  const maxTokens = Math.min(answer.maxTokens ?? defaultTokens, baseModel.contextLength)
  const rows = [...promptsOf(input).keys()]
  return completionsOf(await generate(request, [{ rows, grammar, maxTokens, isCallers: true }], sampling.seed))
}

/** The engine lets grammars that begin as ours do force text, because ours bound the length of their answers. */
const asCallers = (grammar: string) => grammar.replace(/^%llguidance/, '\n$&')

export async function completeSchemas(request: SchemaRequest, generate: Generate): Promise<Completions> {
  const rows = [...promptsOf(request.input).keys()]
  return completionsOf(await Promise.all(rows.map((row) => completeSchema(request, row, generate))))
}

const completionsOf = (choices: readonly Choice[]): Completions => ({
  outputs: choices.map(({ text }) => ({ output: text })),
  finishReasons: choices.map(({ finishReason }) => finishReason),
})

async function completeSchema(request: SchemaRequest, row: number, generate: Generate): Promise<Choice> {
  const { baseModel, answer: shape, sampling, onText, signal } = request
  const work = workOn(request)
  const least = await work('leastOfAnswer', shape, null)
  if (shape.maxTokens !== null && shape.maxTokens < least) throw budgetTooSmall(least)
  const left = baseModel.contextLength - (await countPrompt(request, row, signal))
  if (left < least) throw answerTooLong(baseModel, row)
  const room = Math.min(left, shape.maxTokens ?? defaultTokens)
  const tries = await work('planTries', shape, room)
  for (const [round, each] of tries.entries()) {
    const grammar = { grammar: await work('writeAnswer', shape, each) }
    const seed = sampling.seed === null ? null : sampling.seed + round
    const choice = (await generate(request, [{ rows: [row], grammar, maxTokens: room }], seed))[row]
    if (!choice) break
    if (choice.finishReason !== 'length' && (await work('fitsAnswer', shape, choice.text))) return choice
    if (choice.finishReason === 'length' && (onText || round === tries.length - 1)) return choice
    // A text that was passed on cannot be asked for again.
    if (onText) break
  }
  throw new Error(`${baseModel.name} returned an answer that its grammar forbids.`)
}

type ShapedRequest = Accepted<CompletionRequest<SchemaShape<AskedSchema> | CallsShape>>

/** @returns what works on the schemas of a request. It throws ServiceError invalid_input for those that are too complex. */
export function workOn({ servers: { schemas }, baseModel, accountId, signal }: ShapedRequest) {
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
