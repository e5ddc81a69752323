// The items of a run before it is accepted: read, compared with the templates that name their parts, and laid out for the store.
import { chunkSize, joined, type ChunkLocation } from '../domain/chunk-layout.ts'
import { evalRunLimits, type EvalItem, type InputMessages } from '../domain/eval-run.ts'
import { templatesOf, type ItemGrader } from '../domain/item-grader.ts'
import {
  fixedCharacters,
  MissingPart,
  referencesIn,
  roomForItem,
  take,
  textAt,
  textOf,
  UnfilledText,
  whyUnfilled,
  type TemplateValues,
} from '../domain/item-template.ts'
import { createJsonCount, tooDeep } from '../domain/json-bounds.ts'
import { parsedJson } from '../domain/parsed-json.ts'
import { invalidInput } from '../domain/service-error.ts'

const field = 'data_source.source'
/** A worker holds a few chunks at once. */
const chunkCharacters = 4 * 1024 * 1024
/** The value of a longer line may need more memory than there is. JSON may write a character as six. */
const lineCharacters = 8 * evalRunLimits.itemCharacters

/** `lines`: the items as JSON Lines. `messages`: null when each item brings its sample. */
export type RunItems = {
  lines: Uint8Array
  isFile: boolean
  messages: InputMessages | null
  /** The characters of everything else in each item's request to the model. */
  requestCharacters: number
  graders: readonly ItemGrader[]
}
export type LaidOutItems = { object: Uint8Array; chunks: ChunkLocation[]; chunkSize: number; itemCount: number }

/** @throws ServiceError invalid_input naming the item, or the line of a file */
export function layOutItems({ lines, isFile, ...asked }: RunItems): LaidOutItems {
  const measure = createMeasure(asked)
  const texts: string[] = []
  let longest = 1
  for (const item of itemsIn(lines, isFile)) {
    if (texts.length >= evalRunLimits.items) throw wrong(`it has more than ${evalRunLimits.items} items. Split it.`)
    const text = JSON.stringify(item)
    if (text.length > evalRunLimits.itemCharacters)
      throw wrong(`item ${texts.length} has more than ${evalRunLimits.itemCharacters} characters of JSON.`)
    longest = Math.max(longest, text.length, measure(item, texts.length))
    texts.push(text)
  }
  if (texts.length === 0) throw wrong('it has no item.')
  const size = Math.max(1, Math.min(chunkSize, Math.floor(chunkCharacters / longest)))
  const starts = Array.from({ length: Math.ceil(texts.length / size) }, (_, chunk) => chunk * size)
  const parts = starts.map((start) => Buffer.from(`[${texts.slice(start, start + size).join()}]`))
  return { ...joined(parts), chunkSize: size, itemCount: texts.length }
}

/** `times`: by name, how often the templates name it. */
type Template = { characters: number; times: Map<string, number> }

function templateOf(texts: readonly string[]): Template {
  const times = new Map<string, number>()
  for (const name of texts.flatMap(referencesIn)) times.set(name, (times.get(name) ?? 0) + 1)
  return { characters: texts.reduce((sum, text) => sum + fixedCharacters(text), 0), times }
}

/**
 * Each item must have the parts that are named. Parts of a sample are known once the model has answered.
 * @returns gives the characters of the item's request to the model
 */
function createMeasure({
  messages,
  requestCharacters,
  graders,
}: Pick<RunItems, 'messages' | 'requestCharacters' | 'graders'>) {
  const conversation = templateOf(messages && 'template' in messages ? messages.template.map(textOf) : [])
  const judged = templateOf(graders.flatMap(templatesOf))
  const nameCount = [conversation, judged].flatMap(({ times }) => [...times.values()]).reduce((a, b) => a + b, 0)
  const namesSample = [...judged.times.keys()].some((name) => name.startsWith('sample'))
  const isKnown = (name: string) => (messages ? name.startsWith('item') : !name.startsWith('sample.output_'))
  let filled = 0

  return (item: EvalItem, index: number): number => {
    if ((index + 1) * nameCount > evalRunLimits.namedParts)
      throw wrong(`its templates name more than ${evalRunLimits.namedParts} parts in all its items. Split it.`)
    try {
      const said = messages && 'reference' in messages ? textAt(messages.reference, item).length : 0
      const asked = requestCharacters + said + charactersOf(conversation, item, () => true)
      filled += asked + charactersOf(judged, item, isKnown)
      if (!messages && namesSample && !item.sample) throw new MissingPart('sample')
      if (filled > evalRunLimits.filledCharacters)
        throw wrong(`its texts have more than ${evalRunLimits.filledCharacters} characters in all. Split it.`)
      return asked
    } catch (error) {
      if (!(error instanceof UnfilledText)) throw error
      throw invalidInput(field, whyUnfilled(error, `Item ${index} of ${field}`))
    }
  }
}

/** @throws MissingPart, TooLongTexts */
function charactersOf({ characters, times }: Template, values: TemplateValues, isKnown: (name: string) => boolean) {
  const room = roomForItem()
  const before = room.characters
  take(room, characters)
  for (const [name, count] of times) if (isKnown(name)) take(room, textAt(name, values).length * count)
  return before - room.characters
}

function* itemsIn(lines: Uint8Array, isFile: boolean): Generator<EvalItem> {
  const text = decoded(lines)
  const count = createJsonCount()
  let number = 0
  for (let start = 0; start < text.length;) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    const line = text.slice(start, end)
    start = end + 1
    number++
    if (line.trim() === '') continue
    if (!isFile) {
      yield JSON.parse(line) as EvalItem
      continue
    }
    if (line.length > lineCharacters) throw wrong(`line ${number} has more than ${lineCharacters} characters.`)
    const excess = count.add(line)
    if (excess === tooDeep) throw wrong(`line ${number} ${excess}.`)
    if (excess !== null) throw wrong(`the file ${excess} up to line ${number}. Split it.`)
    yield itemOf(line, number)
  }
}

function decoded(lines: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(lines)
  } catch {
    throw wrong('the file is not UTF-8.')
  }
}

function itemOf(line: string, number: number): EvalItem {
  const value = parsedJson(line)
  if (!isObject(value) || !isObject(value['item'])) throw wrong(`line ${number} is not an object {"item": {…}}.`)
  const sample = value['sample']
  if (sample !== undefined && !isObject(sample)) throw wrong(`line ${number} has a sample that is not an object.`)
  if (line.includes(String.raw`\u0000`)) throw wrong(`line ${number} contains a NUL character.`)
  return { item: value['item'], ...(sample && { sample }) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wrong = (reason: string) => invalidInput(field, `The items of ${field} cannot be used: ${reason}`)
