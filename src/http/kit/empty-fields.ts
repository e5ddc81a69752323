// Clients write null, "", [] or {} for a field that they leave out, so an optional field with such a value is taken away.
// A list or a map with names of the client's own may be empty in either form: PHP writes {} as [], and Lua writes [] as {}.
import type { z } from 'zod'

type Schema = z.core.$ZodType

const meaningful = new WeakSet<Schema>()

/** Marks the schema of an optional field in which an empty value says something else than no field. */
export function keepsEmpty<T extends Schema>(schema: T): T {
  meaningful.add(schema)
  return schema
}

/**
 * @returns `value` without the empty optional fields of its objects; `value` itself if there are none. A list that is too long is cut
 * behind the first item that is too many, because its items may be a hundred thousand
 */
export function withoutEmpty(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !holdsOptional(schema)) return value
  const def = definitionOf(schema)
  if (def.type === 'union') return inUnion(def.options, value)
  if (Array.isArray(value)) return def.type === 'array' ? inList(def.element, withinLength(def, value)) : value
  if (def.type === 'record') return inMap(def.valueType, value)
  return def.type === 'object' ? inObject(def, value) : value
}

/** The definition of the schema without its wrappers. */
function definitionOf(schema: Schema): z.core.$ZodTypes['_zod']['def'] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if ('innerType' in def) return definitionOf(def.innerType)
  if (def.type !== 'pipe') return def
  // A transform comes first in a schema that puts values into another form before it reads them.
  return definitionOf(definitionOf(def.in).type === 'transform' ? def.out : def.in)
}

/** zod looks at the length after all items. */
function withinLength({ checks = [] }: z.core.$ZodArrayDef, list: unknown[]): unknown[] {
  const [most = Infinity] = (checks as z.core.$ZodChecks[]).flatMap(({ _zod: { def } }) =>
    def.check === 'max_length' ? [def.maximum] : [],
  )
  return list.length > most + 1 ? list.slice(0, most + 1) : list
}

const known = new WeakMap<Schema, boolean>()

/** Whether values of the schema may have empty fields. Lists of texts, token ids or parts of a message need no look. */
function holdsOptional(schema: Schema): boolean {
  const before = known.get(schema)
  if (before !== undefined) return before
  const answer = findOptional(schema)
  known.set(schema, answer)
  return answer
}

function findOptional(schema: Schema): boolean {
  const def = definitionOf(schema)
  if (def.type === 'union') return def.options.some(holdsOptional)
  if (def.type === 'array') return holdsOptional(def.element)
  if (def.type === 'record') return holdsOptional(def.valueType)
  if (def.type !== 'object') return false
  return isStrict(def) || Object.values(def.shape).some((field) => isOptional(field) || holdsOptional(field))
}

const isOptional = (schema: Schema) => (schema as z.core.$ZodTypes)._zod.optin !== undefined
const isStrict = ({ catchall }: z.core.$ZodObjectDef) =>
  catchall !== undefined && definitionOf(catchall).type === 'never'

function inList(element: Schema, list: unknown[]): unknown[] {
  const items = list.map((item) => withoutEmpty(element, item))
  return items.some((item, at) => item !== list[at]) ? items : list
}

function inMap(valueType: Schema, map: object): object {
  const entries = Object.entries(map).map(([name, each]) => [name, withoutEmpty(valueType, each)] as const)
  return entries.some(([name, each]) => each !== map[name as keyof typeof map]) ? Object.fromEntries(entries) : map
}

/** Goes through the names of the schema, because a client may send many others. */
function inObject(def: z.core.$ZodObjectDef, object: object): object {
  const given = object as Record<string, unknown>
  const changed = new Map<string, unknown>()
  for (const [name, schema] of fieldsOf(def)) {
    const each = given[name]
    if (each === undefined || !Object.hasOwn(given, name)) continue
    const inner = withoutEmpty(schema, each)
    if (isEmptyIn(schema, inner)) changed.set(name, absent)
    else if (inner !== each) changed.set(name, inner)
  }
  // null asks for nothing, so an unknown field may have it.
  const isUnknownNull = isStrict(def)
    ? (name: string) => given[name] === null && !Object.hasOwn(def.shape, name)
    : () => false
  const names = Object.keys(given)
  if (changed.size === 0 && !names.some(isUnknownNull)) return object
  const left = names.filter((name) => changed.get(name) !== absent && !isUnknownNull(name))
  return Object.fromEntries(left.map((name) => [name, changed.get(name) ?? given[name]]))
}

const absent = Symbol('absent')

const fields = new WeakMap<object, [string, Schema][]>()

function fieldsOf({ shape }: z.core.$ZodObjectDef): [string, Schema][] {
  const found = fields.get(shape) ?? Object.entries(shape)
  fields.set(shape, found)
  return found
}

/** Reads the value as the alternative that it can only be, or else as the one that finds the fewest problems. */
function inUnion(options: readonly Schema[], value: object): unknown {
  const readings = options
    .filter((option) => canBe(option, value))
    .map((option) => ({ option, read: withoutEmpty(option, value) }))
  if (readings.length <= 1 || readings.every(({ read }) => read === value)) return readings[0]?.read ?? value
  const problems = readings.map(({ option, read }) => problemsOf(option, read))
  return readings[problems.indexOf(Math.min(...problems))]?.read
}

/** By its type, and the words that name a kind of object. */
function canBe(option: Schema, value: object): boolean {
  const def = definitionOf(option)
  if (def.type === 'union') return def.options.some((each) => canBe(each, value))
  if (Array.isArray(value)) return def.type === 'array' || def.type === 'tuple'
  if (def.type !== 'object') return def.type === 'record'
  return wordsOf(def).every(({ name, words, isOptional }) => {
    const given: unknown = value[name as keyof typeof value] ?? null
    return given === null ? isOptional : words.includes(given)
  })
}

type Words = { name: string; words: readonly unknown[]; isOptional: boolean }[]

const wordsKnown = new WeakMap<object, Words>()

function wordsOf(def: z.core.$ZodObjectDef): Words {
  const before = wordsKnown.get(def)
  if (before) return before
  const found = fieldsOf(def).flatMap(([name, schema]) => {
    const word = definitionOf(schema)
    return word.type === 'literal' ? [{ name, words: word.values, isOptional: isOptional(schema) }] : []
  })
  wordsKnown.set(def, found)
  return found
}

function problemsOf(schema: Schema, value: unknown): number {
  const parsed = (schema as z.ZodType).safeParse(value)
  return parsed.success ? 0 : parsed.error.issues.length
}

type Empty = 'text' | 'list' | 'map'

/** Whether an optional field with this value is an absent one. */
function isEmptyIn(schema: Schema, value: unknown): boolean {
  if (!isOptional(schema) || meaningful.has(schema)) return false
  const kind = emptyKind(value)
  return value === null || (kind !== null && kindsOf(schema).includes(kind))
}

function emptyKind(value: unknown): Empty | null {
  if (value === '') return 'text'
  if (Array.isArray(value)) return value.length === 0 ? 'list' : null
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? 'map' : null
}

/** The empty values of the schema's types. */
function kindsOf(schema: Schema): readonly Empty[] {
  const def = definitionOf(schema)
  if (def.type === 'union') return def.options.flatMap(kindsOf)
  if (def.type === 'literal') return def.values.some((value) => typeof value === 'string') ? ['text'] : []
  return kindsByType[def.type] ?? []
}

const kindsByType: Partial<Record<z.core.$ZodTypes['_zod']['def']['type'], readonly Empty[]>> = {
  string: ['text'],
  enum: ['text'],
  object: ['map'],
  unknown: ['map'],
  tuple: ['list'],
  array: ['list', 'map'],
  record: ['list', 'map'],
  // A map whose names are not looked at.
  custom: ['list', 'map'],
  // Stands for a parameter that is not supported.
  null: ['text', 'list', 'map'],
}
