// Typed answers. Each prompt gets the longest strings that surely close within the context, prompts of one bound share a
// grammar, and every answer is validated again before it is returned.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OutputType } from '../domain/output-type.ts'
import { isText } from '../domain/prompt.ts'
import type { Accepted, Generate } from './accept.ts'
import { runConcurrently } from './chunks.ts'
import { countPrompt } from './count-tokens.ts'
import { answerTooLong } from './input-errors.ts'
import { promptsOf, type Completions, type CompletionRequest, type RowGroup, type TypedForm } from './request.ts'
import { allowedCharacters, comfortableBound, maxPromptTokens, shorter, tightBound, type Bound } from './text-bounds.ts'
import { createAnswerParser, typedOutputRegex, type OutputValue } from './typed-output.ts'

type TypedRequest = Accepted<CompletionRequest<TypedForm>>
/** A prompt by its position. */
type BoundedRow = { row: number; bound: Bound }

/** An invalid answer is asked for again: with another seed, and shorter where its room was uncertain. */
const maxRounds = 3
/** Rows that one turn of the event loop works on: a type of 64 fields takes 0.05 ms for each. */
const rowsAtOnce = 100

export async function completeTyped(request: TypedRequest, generate: Generate): Promise<Completions> {
  const { answer, input, sampling } = request
  const parse = createAnswerParser(answer.outputType)
  const outputs: Record<string, OutputValue>[] = []
  // A text that may yet be asked for again is not streamed.
  const quiet = { ...request, onText: undefined }
  let rows = await boundRows(request)
  for (let round = 0; rows.length > 0; round++) {
    if (round === maxRounds) throw unfinished(request, rows)
    const seed = sampling.seed === null ? null : sampling.seed + round
    const choices = await generate(quiet, groupRows(answer.outputType, rows), seed)
    const failed: BoundedRow[] = []
    for (const [at, { row, bound }] of rows.entries()) {
      if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn()
      const output = parse(choices[row]?.text ?? '')
      if (output) outputs[row] = output
      else failed.push({ row, bound: shorter(bound) })
    }
    rows = failed
  }
  return { outputs, finishReasons: promptsOf(input).map(() => 'stop') }
}

async function boundRows(request: TypedRequest): Promise<BoundedRow[]> {
  const { baseModel, input, answer, signal } = request
  const { contextLength } = baseModel
  const { outputType } = answer
  const allowed = allowedCharacters(outputType, answer.maxTokens)
  const rows: BoundedRow[] = []
  const tight: number[] = []
  for (const [row, prompt] of promptsOf(input).entries()) {
    if (row % rowsAtOnce === rowsAtOnce - 1) await nextTurn()
    // The length that a chat template adds is not known here.
    const promptTokens = input.kind === 'chat' || !isText(prompt) ? contextLength : maxPromptTokens(prompt)
    const bound = comfortableBound(outputType, allowed, { contextLength, promptTokens })
    if (bound) rows.push({ row, bound })
    else tight.push(row)
  }
  await runConcurrently(tight, signal, async (row, rowSignal) => {
    const promptTokens = await countPrompt(request, row, rowSignal)
    const bound = tightBound(outputType, allowed, { contextLength, promptTokens })
    if (!bound) throw answerTooLong(baseModel, row)
    rows.push({ row, bound })
  })
  return rows
}

function groupRows(outputType: OutputType, bounded: readonly BoundedRow[]): RowGroup[] {
  const byBound = Map.groupBy(bounded, ({ bound }) => `${bound.characters} ${bound.digits} ${bound.isCertain}`)
  return [...byBound.values()].map((group) => {
    const bounds = group.map(({ bound }) => bound)
    // Each uncertain prompt has its own room, to which the engine cuts.
    const maxTokens = Math.max(...bounds.map((bound) => bound.maxTokens))
    const rows = group.map(({ row }) => row)
    return { rows, grammar: { regex: typedOutputRegex(outputType, bounds[0] as Bound) }, maxTokens }
  })
}

function unfinished({ baseModel }: TypedRequest, bounded: readonly BoundedRow[]): Error {
  const hopeless = bounded.find(({ bound }) => !bound.isCertain)
  if (hopeless) return answerTooLong(baseModel, hopeless.row)
  const rows = bounded.slice(0, 5).map(({ row }) => row)
  return new Error(`${baseModel.name} returned answers that its grammar forbids for the prompts at ${rows.join(', ')}.`)
}
