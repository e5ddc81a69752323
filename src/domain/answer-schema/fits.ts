// Checks a whole answer against its schema, apart from the grammar that the engine followed.
import { matches } from './automaton.ts'
import { nodeOf, type AnswerSchema, type NodeId, type NumberRange, type SchemaNode } from './nodes.ts'
import { isJsonObject } from './source.ts'
import { spend, type Steps } from './steps.ts'
import { newWork } from './work.ts'

/** @returns whether `text` is one JSON value of the schema. @throws TooMuchWork */
export function fitsSchema(schema: AnswerSchema, text: string, work: Steps = newWork()): boolean {
  if (!text.isWellFormed()) return false
  try {
    spend(work, text.length / charactersOfStep)
    return fits({ schema, work, known: new Map() }, schema.root, JSON.parse(text))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return false
    throw error
  }
}

/** `known` keeps what was found for each value: alternatives would check the same ones again at each level. */
type Check = { schema: AnswerSchema; work: Steps; known: Map<unknown, Map<NodeId, boolean>> }

function fits(check: Check, id: NodeId, value: unknown): boolean {
  spend(check.work, stepsOfValue)
  const found = check.known.get(value) ?? new Map<NodeId, boolean>()
  check.known.set(value, found)
  const before = found.get(id)
  if (before !== undefined) return before
  const result = fitsNode(check, id, value)
  found.set(id, result)
  return result
}

function fitsNode(check: Check, id: NodeId, value: unknown): boolean {
  const node = nodeOf(check.schema, id)
  switch (node.kind) {
    case 'choice':
      return isOneOf(check, node, value)
    case 'string':
      return typeof value === 'string' && fitsString(check, node, value)
    case 'integer':
      return isMultiple(value, node.multipleOf) && value >= node.minimum && value <= node.maximum
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) && isWithin(node.range, value)
    case 'array':
      return Array.isArray(value) && fitsArray(check, node, value)
    case 'object':
      return isJsonObject(value) && fitsObject(check, node, value)
    case 'map':
      return isJsonObject(value) && fitsMap(check, node, value)
    case 'any':
      return node.of.some((each) => fits(check, each, value))
  }
}

type Of<Kind extends SchemaNode['kind']> = Extract<SchemaNode, { kind: Kind }>

const stepsOfValue = 4
/** How much is compared in about the time of a step. */
const charactersOfStep = 8
const valuesOfStep = 8

function isOneOf({ work }: Check, { values }: Of<'choice'>, value: unknown): boolean {
  const text = JSON.stringify(value)
  spend(work, values.length / valuesOfStep + text.length / charactersOfStep)
  return values.includes(text)
}

function fitsString({ work }: Check, { maxLength, least, rules }: Of<'string'>, value: string): boolean {
  const length = Array.from(value).length
  spend(work, length)
  if (length < least || length > (maxLength ?? Infinity)) return false
  return rules.every(({ automaton }) => matches(automaton, value, work))
}

const isMultiple = (value: unknown, step: number): value is number =>
  Number.isSafeInteger(value) && (value as number) % step === 0

function isWithin(range: NumberRange | null, value: number): boolean {
  if (!range) return true
  const { minimum, maximum, excludesMinimum, excludesMaximum } = range
  const isAbove = minimum === null || (excludesMinimum ? value > minimum : value >= minimum)
  return isAbove && (maximum === null || (excludesMaximum ? value < maximum : value <= maximum))
}

function fitsArray(check: Check, { first, rest, minItems, maxItems }: Of<'array'>, value: unknown[]): boolean {
  if (value.length < minItems || value.length > (maxItems ?? Infinity)) return false
  return value.every((item, index) => {
    const node = first[index] ?? rest
    return node !== null && fits(check, node, item)
  })
}

function fitsObject(check: Check, { members }: Of<'object'>, value: Record<string, unknown>): boolean {
  spend(check.work, members.length)
  const known = members.filter(({ name }) => Object.hasOwn(value, name))
  return (
    known.length === Object.keys(value).length &&
    known.every(({ name, node }) => fits(check, node, value[name])) &&
    members.every(({ name, isRequired }) => !isRequired || Object.hasOwn(value, name))
  )
}

function fitsMap(check: Check, { key, value: node, isNonEmpty, maxEntries }: Of<'map'>, value: object): boolean {
  const entries = Object.entries(value)
  if (entries.length < Number(isNonEmpty) || entries.length > (maxEntries ?? Infinity)) return false
  return entries.every(([name, each]) => fits(check, key, name) && fits(check, node, each))
}
