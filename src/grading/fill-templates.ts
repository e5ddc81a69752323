// Templates of graders and conversations, filled with items and samples.
import { messagesOf, type EvalItem, type EvalRunRequest } from '../domain/eval-run.ts'
import type { ChunkResults } from '../domain/inference-batch.ts'
import type { ItemGrader } from '../domain/item-grader.ts'
import {
  filled,
  roomForItem,
  take,
  UnfilledText,
  whyUnfilled,
  type Room,
  type TemplateValues,
} from '../domain/item-template.ts'
import { invalidInput } from '../domain/service-error.ts'
import { judgeRequest } from './chat-judge.ts'
import type { Graded } from './compile-graders.ts'
import { chatSamples, givenSample, type Sampled } from './eval-samples.ts'
import { jsonValidator } from './json-schema.ts'
import { gradingRequest } from './python/request.ts'

/** Samples and judges are asked by lines of a batch. */
export const endpoint = '/v1/chat/completions' as const

/** Filled texts that are held at once: those of one item may be more. */
const pieceCharacters = 8 * 1024 * 1024

/** Why texts cannot be filled. */
export type FillProblem = 'missing part' | 'sample lacks a part' | 'sample is no JSON' | 'too long'
/** Texts that are compared, the line of a batch that asks a judge, or the request to a program. */
export type Filled = Graded | { line: string } | { request: string } | { problem: FillProblem; error: string }

/** Texts that cannot be filled take no room from the others. `index`: the item's position in the run. */
function fill(grader: ItemGrader, values: TemplateValues, room: Room, index: number): Filled {
  const { characters } = room
  try {
    if (grader.type === 'judge') return { line: lineOf(judgeRequest(grader, values, room), index) }
    if (grader.type === 'python') return { request: requestWithin(room, values) }
    const { output, expected } = grader.template
    return { input: '', output: filled(output, values, room), expected: filled(expected, values, room) }
  } catch (error) {
    if (!(error instanceof UnfilledText)) throw error
    room.characters = characters
    return { problem: problemOf(error, values), error: whyUnfilled(error) }
  }
}

/** @throws TooLongTexts */
function requestWithin(room: Room, { sample, item }: TemplateValues): string {
  const request = gradingRequest(sample ?? {}, item ?? {})
  take(room, request.length)
  return request
}

function problemOf({ name, message }: UnfilledText, { sample }: TemplateValues): FillProblem {
  if (name !== 'MissingPart') return 'too long'
  if (!message.startsWith('{{sample')) return 'missing part'
  const isUnparsed = message.startsWith('{{sample.output_json') && !Object.hasOwn(sample ?? {}, 'output_json')
  return isUnparsed ? 'sample is no JSON' : 'sample lacks a part'
}

/** `answers`: the lines of the model; null when each item brings its sample. `from`: the first item, counted in the chunk. */
export type ChunkToFill = {
  graders: readonly ItemGrader[]
  items: Uint8Array
  answers: Pick<ChunkResults, 'values' | 'errors'> | null
  start: number
  from: number
}
/** `columns`: by grader, then by item. */
export type FilledPiece = { samples: Sampled[]; columns: Filled[][]; isLast: boolean }

/** Fills as many items of a chunk as may be held at once, at least one. */
export function fillChunk({ graders, items: bytes, answers, start, from }: ChunkToFill): FilledPiece {
  const items = itemsOf(bytes)
  const all = answers ? chatSamples(answers, { start, count: items.length }) : items.map(givenSample)
  const samples: Sampled[] = []
  const columns: Filled[][] = graders.map(() => [])
  let left = pieceCharacters
  for (let at = from; at < items.length && (at === from || left > 0); at++) {
    const sampled = all[at] as Sampled
    const room = roomForItem()
    const before = room.characters
    const values = { item: items[at]?.item, sample: sampled.sample }
    for (const [column, grader] of graders.entries()) columns[column]?.push(fill(grader, values, room, start + at))
    samples.push(sampled)
    left -= before - room.characters + (sampled.sample?.output_text.length ?? 0)
  }
  return { samples, columns, isLast: from + samples.length >= items.length }
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

/** @throws ServiceError invalid_input when the conversation names the sample: no model has answered yet */
function chatLine(
  { messages, fieldsText }: Pick<NonNullable<EvalRunRequest['sampling']>, 'messages' | 'fieldsText'>,
  model: string,
  item: EvalItem,
  index: number,
) {
  try {
    return lineOf({ model, messages: messagesOf(messages, item), ...(JSON.parse(fieldsText) as object) }, index)
  } catch (error) {
    throw error instanceof UnfilledText ? invalidInput('', whyUnfilled(error, `Item ${index}`)) : error
  }
}

const lineOf = (body: object, index: number) =>
  JSON.stringify({ custom_id: String(index), method: 'POST', url: endpoint, body })

const itemsOf = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as EvalItem[]
