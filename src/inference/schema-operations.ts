// The operations on the schemas of a request: pure functions. The event loop runs them for small schemas, a thread for large ones.
import { fitsSchema } from '../domain/answer-schema/fits.ts'
import { bytes, leastBytes, type Prices } from '../domain/answer-schema/least-bytes.ts'
import type { AnswerSchema } from '../domain/answer-schema/nodes.ts'
import type { Kind, Steps } from '../domain/answer-schema/steps.ts'
import type { CallsOf, SchemaShape } from '../domain/answer-shape.ts'
import type { CallFormat } from '../domain/tools/call-format.ts'
import type { ReadCall } from '../domain/tools/call-reader.ts'
import { createWeights } from './answer-grammar/sizes.ts'
import { leastOfCall, writeCalls } from './answer-grammar/write-calls.ts'
import { certain, roundDown, usual, writeGrammar } from './answer-grammar/write-grammar.ts'

type One = SchemaShape<AnswerSchema>
type Calls = CallsOf<AnswerSchema>

/** The text and the calls of an answer. */
type SaidCalls = { text: string; calls: ReadCall[] }

export type Try = { tokens: number; prices: Prices }

/** Characters for each value below which it is better to count on usual tokens than to be certain. */
const comfortableCharacters = 64
/** Four characters for each token. */
const averages: Prices = { byte: 1 / 4, character: 1 / 4 }

/** Each throws TooMuchWork once `work` is used up. */
export const operations = {
  /** The schemas were read before. */
  read: (_shape: Calls, _input: null, _work: Steps): true => true,

  /** The least tokens of an answer when each holds a few characters, with one for the end. */
  leastOfAnswer: ({ schema }: One, _input: null, work: Steps): number =>
    Math.ceil(leastOf(schema, bytes, work) / 4) + 1,

  planTries,

  writeAnswer: ({ schema }: One, { tokens, prices }: Try, work: Steps): string =>
    writeGrammar(schema, tokens, prices, work),

  fitsAnswer: ({ schema }: One, text: string, work: Steps): boolean => fitsSchema(schema, text, work),

  leastOfCalls: ({ functions }: Calls, format: CallFormat, work: Steps): number =>
    Math.max(...functions.map((called) => leastOfCall(called, format, averages, work))) + 1,

  writeCalls: (shape: Calls, { format, tokens }: { format: CallFormat; tokens: number }, work: Steps): string =>
    writeCalls(shape, format, tokens, usual, work),

  fitsCalls,
}

export type OperationName = keyof typeof operations

export const kindOf = (name: OperationName): Kind => (name === 'fitsAnswer' || name === 'fitsCalls' ? 'check' : 'read')

/** An answer that ran out of tokens is asked for again with half of them. The last answer is one that fits however the model
 * spells it, or where no answer does, the shortest one. */
function planTries({ schema }: One, room: number, work: Steps): Try[] {
  // One token is for the end.
  const tokens = roundDown(room - 1)
  const leastCertain = leastOf(schema, certain, work)
  const weight = createWeights(schema, work)(schema.root)
  if (leastCertain + weight * comfortableCharacters * certain.character <= tokens) return [{ tokens, prices: certain }]
  const leastUsual = leastOf(schema, usual, work)
  const longer = [tokens, tokens / 2].filter((each) => each > leastUsual)
  const last = leastCertain <= tokens ? { tokens, prices: certain } : { tokens: leastUsual, prices: usual }
  return [...longer.map((each) => ({ tokens: each, prices: usual })), last]
}

const leastOf = (schema: AnswerSchema, prices: Prices, work: Steps) =>
  leastBytes(schema, prices, work)[schema.root] ?? Infinity

function fitsCalls({ functions, isRequired, content }: Calls, { text, calls }: SaidCalls, work: Steps): boolean {
  if (calls.length === 0) return !isRequired && (!content || fitsSchema(content, text, work))
  return calls.every((call) => {
    const called = functions.find(({ name }) => name === call.name)
    return called !== undefined && fitsSchema(called.schema, call.arguments, work)
  })
}
