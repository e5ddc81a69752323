// Rows stored under an id (`POST /v1/svc/data`): their allowed form and their text.
import type { Catalogue } from './catalogue.ts'
import { sha256 } from './identifiers.ts'
import { invalidInput } from './service-error.ts'

type Scalar = string | number | boolean

/** Fields in the client's order. */
type StoredObject = { name: string; fields: [name: string, value: Scalar][] }
/** One object is a text; two are an input and an output. */
export type StoredItem = StoredObject[]

/** The form of every item: object names in order, each with its sorted field names. */
export type ItemFormat = { name: string; fields: string[] }[]

const longestName = 256
const maxFields = 64
const longestItem = 1_000_000

/** A base model's aliases share one collection. */
export const collectionName = (catalogue: Catalogue, idOrModel: string) => catalogue.find(idOrModel)?.name ?? idOrModel

/** The id of the data set that holds a collection's exported rows. */
export const collectionDatasetId = (accountId: string, collection: string) =>
  sha256(`${accountId}\n${collection}`).toString('hex').slice(0, 32)

/** Does not depend on the order of fields. */
export const itemHash = (item: StoredItem) =>
  sha256(JSON.stringify(item.map(({ name, fields }) => [name, fields.toSorted(([a], [b]) => (a < b ? -1 : 1))])))

/** The value of a single field, or `name: value` pairs. */
const objectText = ({ fields }: StoredObject) =>
  fields.length === 1 ? String(fields[0]?.[1]) : fields.map(([name, value]) => `${name}: ${value}`).join(', ')

/** The text that is embedded, searched and put before prompts. */
export const itemText = (item: StoredItem) => item.map(objectText).join(' ')

/** A row of a training data set. */
export function trainingRow([first, second]: StoredItem): { input: string; output: string } | { text: string } {
  const text = first ? objectText(first) : ''
  return second ? { input: text, output: objectText(second) } : { text }
}

/** Reads the format that all items must have from the first item. @throws ServiceError invalid_input */
export function readFormat(first: unknown, dataType: unknown): ItemFormat {
  const format = formatOf(readObjects(first, 'data[0]'))
  if (dataType === null || dataType === undefined) return format
  const described = Object.entries(objectAt(dataType, 'data_type')).map(([name, fields]) => ({
    name,
    fields: Object.keys(objectAt(fields, `data_type.${name}`)).toSorted(),
  }))
  if (!isSameFormat(described, format))
    throw invalidInput('data_type', 'data_type must name the same objects and fields as the items of data.')
  return format
}

/** @param path the item's place in the request, such as `data[3]`. @throws ServiceError invalid_input */
export function readItem(value: unknown, path: string, format: ItemFormat): StoredItem {
  const item = readObjects(value, path)
  if (!isSameFormat(formatOf(item), format))
    throw invalidInput(path, `${path} must have the same objects and fields as the first item of data.`)
  // The first item decides which object is the input.
  return format.flatMap(({ name }) => item.find((each) => each.name === name) ?? [])
}

function readObjects(value: unknown, path: string): StoredItem {
  const entries = Object.entries(objectAt(value, path))
  if (entries.length < 1 || entries.length > 2)
    throw invalidInput(
      path,
      `${path} must hold one or two named objects, such as {"question": {...}, "answer": {...}}.`,
    )
  const item = entries.map(([name, fields]) => ({ name, fields: readFields(fields, `${path}.${name}`) }))
  const size = item.reduce(
    (sum, { fields }) => sum + fields.reduce((inner, [name, each]) => inner + name.length + String(each).length, 0),
    0,
  )
  if (size > longestItem) throw invalidInput(path, `${path} may have at most ${longestItem} characters.`)
  return item
}

function readFields(value: unknown, path: string): [string, Scalar][] {
  const object = objectAt(value, path)
  const count = Object.keys(object).length
  if (count === 0) throw invalidInput(path, `${path} must have at least one field.`)
  if (count > maxFields) throw invalidInput(path, `${path} may have at most ${maxFields} fields.`)
  return Object.entries(object).map(([name, each]) => {
    refuseName(name, path)
    if (!isScalar(each)) throw invalidInput(`${path}.${name}`, `${path}.${name} must be a text, a number or a boolean.`)
    return [name, each]
  })
}

function objectAt(value: unknown, path: string): object {
  const field = path.split('.').at(-1) ?? path
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    Object.keys(value).forEach((name) => refuseName(name, path))
    return value
  }
  throw invalidInput(path, `${field.length > longestName ? 'A name' : path} must be an object with named values.`)
}

function refuseName(name: string, path: string) {
  if (name.length < 1 || name.length > longestName)
    throw invalidInput(path, `Every name in ${path} must have 1 to ${longestName} characters.`)
}

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const formatOf = (item: StoredItem): ItemFormat =>
  item.map(({ name, fields }) => ({ name, fields: fields.map(([field]) => field).toSorted() }))

function isSameFormat(one: ItemFormat, other: ItemFormat): boolean {
  const texts = ([...format]: ItemFormat) =>
    JSON.stringify(
      format.map(({ name, fields }) => [name, fields]).toSorted(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1)),
    )
  return texts(one) === texts(other)
}
