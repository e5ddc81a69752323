// The types of a JSON schema and the keywords of each. What belongs to no type is refused by its path.
import { numberKeywords, stringKeywords } from './read-leaf.ts'
import { inside, isJsonObject, refuse, type Json, type Place } from './source.ts'

/** Keywords that do not restrict the value. `discriminator` only says which alternative is meant. */
const annotations = [
  'propertyOrdering',
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'discriminator'],
  ...['$schema', '$id', '$comment', '$defs', 'definitions'],
]
const ofObject = ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties', 'maxProperties']
const ofArray = ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']
export const keywordsOf: Readonly<Record<string, readonly string[]>> = {
  string: stringKeywords,
  integer: numberKeywords,
  number: numberKeywords,
  boolean: [],
  null: [],
  object: ofObject,
  array: ofArray,
}
const types = Object.keys(keywordsOf)

/** A schema that allows any value. */
export const isEmpty = (schema: Json) => Object.keys(schema).every((keyword) => annotations.includes(keyword))

export function requireOnly(schema: Json, known: readonly string[], place: Place) {
  const other = Object.keys(schema).find((keyword) => !known.includes(keyword) && !annotations.includes(keyword))
  if (other !== undefined) throw refuse(inside(place, other), 'is not supported here.')
}

/** @returns null without a type */
export function typesOf(schema: Json, place: Place): string[] | null {
  const value = schema['type']
  if (value === undefined) return null
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0 || !list.every((type) => types.includes(type as string)))
    throw refuse(inside(place, 'type'), `must be one of ${types.join(', ')}, or a list of these.`)
  const unique = [...new Set(list as string[])]
  return unique.includes('number') ? unique.filter((type) => type !== 'integer') : unique
}

/** A schema without a type, whose keywords belong to one. */
export function impliedTypes(schema: Json, place: Place): string[] {
  if ('properties' in schema || 'additionalProperties' in schema) return ['object']
  if ('items' in schema || 'prefixItems' in schema) return ['array']
  const [unknown] = Object.keys(schema).filter(
    (keyword) => !annotations.includes(keyword) && !Object.values(keywordsOf).flat().includes(keyword),
  )
  if (unknown !== undefined) throw refuse(inside(place, unknown), 'is not supported.')
  throw refuse(inside(place, 'type'), `is required: ${types.join(', ')}, or a list of these.`)
}

export function requireSameType(type: unknown, alternative: unknown, place: Place) {
  if (!isJsonObject(alternative) || alternative['type'] !== type)
    throw refuse(inside(place, 'type'), 'must be the type that stands beside the alternatives.')
}

export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    default:
      return typeof value === type
  }
}
