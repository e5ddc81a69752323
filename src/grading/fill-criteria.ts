// Texts of criteria and conversations, filled with items and samples.
import { isJudge, type EvalCriterion } from '../domain/eval-criteria.ts'
import { messagesOf, textParts, type EvalItem, type EvalRunRequest } from '../domain/eval-run.ts'
import { judgeRequest } from '../domain/eval-verdict.ts'
import type { SingleGrader } from '../domain/fine-tuning-grader.ts'
import type { ChunkResults } from '../domain/inference-batch.ts'
import {
  filled,
  roomForItem,
  UnfilledText,
  whyUnfilled,
  type Room,
  type TemplateValues,
} from '../domain/item-template.ts'
import { invalidInput } from '../domain/service-error.ts'
import { chatSamples, givenSample, type Sampled } from './eval-samples.ts'
import { jsonValidator } from './json-schema.ts'

/** Samples and judges are asked by lines of a batch. */
export const endpoint = '/v1/chat/completions' as const

/** Filled texts that are held at once: those of one item may be more. */
const pieceCharacters = 8 * 1024 * 1024

type Texts = { output: string; expected: string }
type Unfilled = { unfilled: string; isMissing: boolean }
/** Texts that are compared, or the body of a chat with a judge. */
export type Filled = Texts | { body: object } | Unfilled
/** The same with the line of a batch. */
export type FilledLine = Texts | { line: string } | Unfilled

type Criterion = EvalCriterion | SingleGrader

/** Texts that cannot be filled take no room from the others. */
function fill(criterion: Criterion, values: TemplateValues, room: Room): Filled {
  const { characters } = room
  try {
    if (isJudge(criterion as EvalCriterion))
      return { body: judgeRequest(criterion as Parameters<typeof judgeRequest>[0], values, room) }
    const { input, reference } = criterion as { input: string; reference: string }
    return { output: filled(input, values, room), expected: filled(reference, values, room) }
  } catch (error) {
    if (!(error instanceof UnfilledText)) throw error
    room.characters = characters
    return { unfilled: whyUnfilled(error), isMissing: error.name === 'MissingPart' }
  }
}

/** `answers`: the lines of the model; null when each item brings its sample. `from`: the first item, counted in the chunk. */
export type ChunkToFill = {
  criteria: readonly EvalCriterion[]
  items: Uint8Array
  answers: Pick<ChunkResults, 'values' | 'errors'> | null
  start: number
  from: number
}
/** `columns`: by criterion, then by item. */
export type FilledPiece = { samples: Sampled[]; columns: FilledLine[][]; isLast: boolean }

/** Fills as many items of a chunk as may be held at once, at least one. */
export function fillChunk({ criteria, items: bytes, answers, start, from }: ChunkToFill): FilledPiece {
  const items = itemsOf(bytes)
  const all = answers ? chatSamples(answers, { start, count: items.length }) : items.map(givenSample)
  const samples: Sampled[] = []
  const columns: FilledLine[][] = criteria.map(() => [])
  let left = pieceCharacters
  for (let at = from; at < items.length && (at === from || left > 0); at++) {
    const sampled = all[at] as Sampled
    const room = roomForItem()
    const before = room.characters
    const values = { item: items[at]?.item, sample: sampled.sample }
    for (const [column, criterion] of criteria.entries()) {
      const filled = fill(criterion, values, room)
      columns[column]?.push('body' in filled ? { line: lineOf(filled.body, start + at) } : filled)
    }
    samples.push(sampled)
    left -= before - room.characters + (sampled.sample?.output_text.length ?? 0)
  }
  return { samples, columns, isLast: from + samples.length >= items.length }
}

/** `isJson`: whether the sample has a part `output_json`. */
export type FilledSample = { filled: Filled[]; isJson: boolean }

/** Fills graders of one sample. */
export function fillSample(input: { graders: readonly SingleGrader[]; item: object; sample: string }): FilledSample {
  const sample = textParts(input.sample)
  const room = roomForItem()
  return {
    filled: input.graders.map((grader) => fill(grader, { item: input.item, sample }, room)),
    isJson: Object.hasOwn(sample, 'output_json'),
  }
}

/** A chunk of a run's items. `model`: the model that answers, as the batch names it. */
export type ChunkToAsk = {
  itemSchema: Record<string, unknown>
  sampling: EvalRunRequest['sampling']
  items: Uint8Array
  model: string
  start: number
}

/** @returns the chats of the items as JSON, and the first item that does not fit the schema, counted in the chunk */
export function chatLines({ itemSchema, sampling, items: bytes, model, start }: ChunkToAsk): {
  lines: Uint8Array
  misfit: number
} {
  const items = itemsOf(bytes)
  const fits = validatorOf(itemSchema)
  const misfit = items.findIndex(({ item }) => !fits(JSON.stringify(item)))
  const lines = sampling && misfit < 0 ? items.map((item, at) => chatLine(sampling, model, item, start + at)) : []
  return { lines: Buffer.from(JSON.stringify(lines)), misfit }
}

/** The schema that was compiled last: a run checks one chunk after the other. */
let last = { key: '', fits: (_text: string) => false }

function validatorOf(schema: Record<string, unknown>) {
  const key = JSON.stringify(schema)
  if (key !== last.key) last = { key, fits: jsonValidator(schema) }
  return last.fits
}

/** @throws ServiceError invalid_input, which a release that did not measure texts has let through */
function chatLine(
  { messages, fieldsText }: NonNullable<EvalRunRequest['sampling']>,
  model: string,
  item: EvalItem,
  index: number,
) {
  try {
    const ordered = JSON.parse(fieldsText) as object
    return lineOf({ model, messages: messagesOf(messages, item), ...ordered }, index)
  } catch (error) {
    throw error instanceof UnfilledText ? invalidInput('', whyUnfilled(error, `Item ${index}`)) : error
  }
}

const lineOf = (body: object, index: number) =>
  JSON.stringify({ custom_id: String(index), method: 'POST', url: endpoint, body })

const itemsOf = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as EvalItem[]
