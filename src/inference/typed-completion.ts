// Typed answers. Each prompt gets the longest strings that surely close within the context, prompts of one bound share a
// grammar, and every answer is validated again before it is returned.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OutputType } from '../domain/output-type.ts'
import { invalidInput } from '../domain/service-error.ts'
import { runConcurrently } from './chunks.ts'
import { countTokens } from './engine-client.ts'
import { generate, type GenerationInput, type Row, type RowGroup } from './generation.ts'
import { answerTooLong } from './input-errors.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import {
  allowedCharacters,
  comfortableBound,
  maxPromptTokens,
  shorter,
  smallestAnswerTokens,
  tightBound,
  workOf,
  type Bound,
} from './text-bounds.ts'
import { createAnswerParser, typedOutputRegex, type OutputValue } from './typed-output.ts'

/** @returns the answers in the prompts' order */
export type Completions = { outputs: Record<string, OutputValue>[]; finishReasons: string[]; logprobs?: unknown[] }

type TypedInput = GenerationInput & {
  prompts: readonly string[]
  outputType: OutputType
  /** Bounds all tokens of an answer. One that does not fit ends unfinished, as its text with the finish reason "length". */
  answerTokens?: number | null
}
type BoundedRow = Row & { bound: Bound }

/** An invalid answer is asked for again: with another seed, and shorter where its room was uncertain. */
const maxRounds = 3
/** Rows that one turn of the event loop works on: a type of 64 fields takes 0.05 ms for each. */
const rowsAtOnce = 100

export async function completeTyped(servers: Servers, input: TypedInput): Promise<Completions> {
  const { outputType, prompts, sampling, answerTokens = null } = input
  if (answerTokens !== null && answerTokens < smallestAnswerTokens(outputType)) throw budgetTooSmall(outputType)
  const finishReasons = prompts.map(() => 'stop')
  const parse = createAnswerParser(outputType)
  const outputs = Array.from<Record<string, OutputValue>>({ length: prompts.length })
  let rows = await boundRows(servers, input)
  for (let round = 0; rows.length > 0; round++) {
    if (round === maxRounds) throw unfinished(input, rows)
    const seed = sampling.seed === null ? null : sampling.seed + round
    // A text that may yet be asked for again is not streamed.
    const choices = await generate(servers, { ...input, onText: undefined }, groupRows(outputType, rows), seed)
    const failed: BoundedRow[] = []
    for (const [at, row] of rows.entries()) {
      if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn()
      const { index, bound } = row
      const { text = '', finishReason = '' } = choices[index] ?? {}
      const output = parse(text)
      const isOutOfTokens = output === null && finishReason === 'length' && answerTokens !== null && !bound.isCertain
      if (isOutOfTokens) finishReasons[index] = 'length'
      if (output || isOutOfTokens) outputs[index] = output ?? { output: text }
      else failed.push({ ...row, bound: shorter(bound) })
    }
    rows = failed
  }
  return { outputs, finishReasons }
}

async function boundRows(servers: Servers, input: TypedInput): Promise<BoundedRow[]> {
  const { baseModel, adapter, accountId, meter, prompts, textLengths, outputType, sampling, messages } = input
  const { answerTokens = null } = input
  const { contextLength } = baseModel
  const allowed = allowedCharacters(outputType, sampling.maxTokens)
  const rows: BoundedRow[] = []
  const tight: Row[] = []
  for (const [index, prompt] of prompts.entries()) {
    if (index % rowsAtOnce === rowsAtOnce - 1) await nextTurn()
    // The length that a chat template adds is not known here.
    const promptTokens = messages ? contextLength : maxPromptTokens(prompt)
    const bound = comfortableBound(outputType, allowed, { contextLength, promptTokens, answerTokens })
    if (bound) rows.push({ index, prompt, bound })
    else tight.push({ index, prompt })
  }
  await runConcurrently(tight, input.signal, async ({ index, prompt }, signal) => {
    const target = { baseModel, adapter, accountId, meter }
    const { count: promptTokens } = await onServer(
      servers,
      target,
      workOf([prompt], 0),
      signal,
      (endpoint, model, callSignal) =>
        countTokens(endpoint, { model, prompt, textLength: textLengths?.[index] ?? 0, messages }, callSignal),
    )
    const bound = tightBound(outputType, allowed, { contextLength, promptTokens, answerTokens })
    if (!bound) throw answerTooLong(baseModel, index)
    rows.push({ index, prompt, bound })
  })
  return rows
}

function groupRows(outputType: OutputType, rows: readonly BoundedRow[]): RowGroup[] {
  const byBound = Map.groupBy(rows, ({ bound }) => `${bound.characters} ${bound.digits} ${bound.isCertain}`)
  return [...byBound.values()].map((group) => {
    const bounds = group.map(({ bound }) => bound)
    // Each uncertain prompt has its own room, to which the engine cuts.
    const maxTokens = Math.max(...bounds.map((bound) => bound.maxTokens))
    const rows = group.map(({ index, prompt }) => ({ index, prompt }))
    return { rows, grammar: { regex: typedOutputRegex(outputType, bounds[0] as Bound) }, maxTokens }
  })
}

function budgetTooSmall(outputType: OutputType) {
  const least = smallestAnswerTokens(outputType)
  return invalidInput('max_tokens', `max_tokens must be at least ${least} for this output_type.`)
}

function unfinished({ baseModel }: TypedInput, rows: readonly BoundedRow[]): Error {
  const hopeless = rows.find(({ bound }) => !bound.isCertain)
  if (hopeless) return answerTooLong(baseModel, hopeless.index)
  const indexes = rows.slice(0, 5).map(({ index }) => index)
  return new Error(
    `${baseModel.name} returned answers that its grammar forbids for the prompts at ${indexes.join(', ')}.`,
  )
}
