// Reads a JSON schema (draft 2020-12 and what OpenAI's strict mode takes) for answers. What is not understood is refused by its
// path, never ignored: an answer fits the whole schema.
import { nodeOf, type AnswerSchema, type Member, type NodeId, type SchemaNode } from './nodes.ts'
import { areDisjoint } from './disjoint.ts'
import { bytes, leastBytes } from './least-bytes.ts'
import { readInteger, readNumber, readString } from './read-leaf.ts'
import { impliedTypes, isEmpty, isOfType, keywordsOf, requireOnly, requireSameType, typesOf } from './schema-types.ts'
import { countAt, inside, isJsonObject, refuse, wholeAt, withoutEmpty, type Json, type Place } from './source.ts'
import { spend, TooMuchWork } from './steps.ts'
import { newWork, type Work } from './work.ts'

const maxNodes = 2000
const maxJsonCharacters = 100_000
const maxDepth = 48
const maxItemsAtLeast = 1024
const stepsOfPart = 40
/** Characters of a text that are looked at in about the time of a step. */
const charactersOfStep = 8

/**
 * @param at the parameter that holds the schema
 * @param work shared by all schemas of a request
 * @throws ServiceError invalid_input with the path of what is refused; TooMuchWork
 */
export function readSchema(schema: unknown, at: string, work = newWork()): AnswerSchema {
  const place = wholeAt(at)
  if (!isJsonObject(schema)) throw refuse(place, 'must be a schema.')
  if (JSON.stringify(schema).length > maxJsonCharacters)
    throw refuse(place, `is longer than ${maxJsonCharacters} characters of JSON.`)
  const reader = createReader(schema, place, work)
  try {
    const root = reader.read(schema, place, 0)
    const read = { nodes: reader.nodes, root }
    reader.refuseEndless(read)
    return read
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error
    const { issues, message } = refuse(reader.latestPlace(), tooMuch)
    throw new TooMuchWork(message, issues)
  }
}

const tooMuch =
  'makes the schemas of the request too large to read: use fewer or smaller patterns, repetitions, lists of values and alternatives.'

/** The readers of one schema share its nodes. */
function createReader(whole: Json, start: Place, work: Work) {
  const nodes: SchemaNode[] = []
  const places: Place[] = []
  const referred = new Map<string, NodeId>()
  let latest = start
  let anything: NodeId | null = null

  function add(node: SchemaNode, place: Place): NodeId {
    if (nodes.length >= maxNodes) throw refuse(start, `has more than ${maxNodes} parts.`)
    places.push(place)
    return nodes.push(node) - 1
  }

  function read(given: unknown, place: Place, depth: number): NodeId {
    if (depth > maxDepth) throw refuse(place, `is nested more than ${maxDepth} levels deep.`)
    latest = place
    spend(work, stepsOfPart)
    if (given === true || (isJsonObject(given) && isEmpty(given))) return anyValue(place)
    if (!isJsonObject(given)) throw refuse(place, 'must be a schema that allows some value.')
    spend(work, Object.keys(given).length)
    const schema = withoutEmpty(given)
    if ('$ref' in schema) return readReference(schema, place, depth)
    for (const combiner of ['anyOf', 'oneOf', 'allOf'])
      if (combiner in schema) return readCombined(schema, combiner, place, depth)
    if ('const' in schema) return readChoice(schema, [schema['const']], 'const', place)
    if ('enum' in schema) return readChoice(schema, schema['enum'], 'enum', place)
    return readTyped(schema, place, depth)
  }

  function readReference(schema: Json, place: Place, depth: number): NodeId {
    requireOnly(schema, ['$ref'], place)
    const reference = schema['$ref']
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference))
      throw refuse(inside(place, '$ref'), 'must point into the same schema, as in "#/$defs/Color".')
    const known = referred.get(reference)
    if (known !== undefined) return known
    // The node is there before its content, so that the content may refer to it.
    const id = add({ kind: 'any', of: [] }, place)
    referred.set(reference, id)
    const keys = decodeURIComponentOr(reference.slice(1)).split('/').slice(1).map(unescapePointer)
    let target: unknown = whole
    for (const key of keys) target = isContainer(target) && Object.hasOwn(target, key) ? target[key] : undefined
    if (target === undefined) throw refuse(inside(place, '$ref'), 'points to nothing.')
    nodes[id] = { kind: 'any', of: [read(target, inside(start, ...keys), depth + 1)] }
    return id
  }

  function readCombined(schema: Json, combiner: string, place: Place, depth: number): NodeId {
    const list = schema[combiner]
    if (!Array.isArray(list) || list.length === 0) throw refuse(inside(place, combiner), 'must be a list of schemas.')
    if (combiner === 'allOf' && list.length > 1)
      throw refuse(inside(place, combiner), 'may hold one schema only: write the others into it.')
    requireOnly(schema, [combiner, 'type'], place)
    const of = list.map((each: unknown, index) => read(each, inside(place, combiner, index), depth + 1))
    // A type beside the alternatives is what pydantic and others write when all are of that type.
    if ('type' in schema)
      for (const index of list.keys()) requireSameType(schema['type'], list[index], inside(place, combiner, index))
    const id = add({ kind: 'any', of }, place)
    if (combiner === 'oneOf') exclusive.push(id)
    return id
  }

  const exclusive: NodeId[] = []

  function readChoice(schema: Json, values: unknown, keyword: string, place: Place): NodeId {
    requireOnly(schema, ['const', 'enum', 'type'], place)
    if (keyword === 'const' && 'enum' in schema) throw refuse(inside(place, 'enum'), 'is not supported beside const.')
    if (!Array.isArray(values) || values.length === 0)
      throw refuse(inside(place, keyword), 'must be a list of at least one value.')
    const wanted = typesOf(schema, place)
    const allowed = values.filter((value) => !wanted || wanted.some((type) => isOfType(value, type)))
    if (allowed.length === 0) throw refuse(inside(place, keyword), 'holds no value of the type.')
    const texts = new Set(allowed.map((value) => JSON.stringify(value)))
    for (const text of texts) spend(work, 1 + text.length / charactersOfStep)
    for (const text of texts) if (!text.isWellFormed()) throw refuse(inside(place, keyword), 'must be valid Unicode.')
    return add({ kind: 'choice', values: [...texts] }, place)
  }

  function readTyped(schema: Json, place: Place, depth: number): NodeId {
    const wanted = typesOf(schema, place) ?? impliedTypes(schema, place)
    requireOnly(schema, ['type', ...wanted.flatMap((type) => keywordsOf[type] ?? [])], place)
    const of = wanted.map((type) => readType(type, schema, place, depth))
    return of.length === 1 ? (of[0] as NodeId) : add({ kind: 'any', of }, place)
  }

  function readType(type: string, schema: Json, place: Place, depth: number): NodeId {
    switch (type) {
      case 'string':
        return add(readString(schema, place, work), place)
      case 'integer':
        return add(readInteger(schema, place), place)
      case 'number':
        return add(readNumber(schema, place), place)
      case 'boolean':
        return add({ kind: 'choice', values: ['true', 'false'] }, place)
      case 'null':
        return add({ kind: 'choice', values: ['null'] }, place)
      case 'array':
        return readArray(schema, place, depth)
      default:
        return readObject(schema, place, depth)
    }
  }

  function readArray(schema: Json, place: Place, depth: number): NodeId {
    const minItems = countAt(schema, 'minItems', place, 0)
    const maxItems = countAt(schema, 'maxItems', place, null)
    if (schema['uniqueItems'] !== undefined && schema['uniqueItems'] !== false && (maxItems ?? Infinity) > 1)
      throw refuse(inside(place, 'uniqueItems'), 'must be false: no grammar can keep items apart.')
    if (maxItems !== null && minItems > maxItems) throw refuse(inside(place, 'minItems'), 'is more than maxItems.')
    if (minItems > maxItemsAtLeast) throw refuse(inside(place, 'minItems'), `may be at most ${maxItemsAtLeast}.`)
    const prefix = schema['prefixItems'] ?? []
    if (!Array.isArray(prefix)) throw refuse(inside(place, 'prefixItems'), 'must be a list of schemas.')
    const first = prefix.map((each: unknown, index) => read(each, inside(place, 'prefixItems', index), depth + 1))
    const isClosed = schema['items'] === false || maxItems === 0
    if (isClosed && minItems > first.length)
      throw refuse(inside(place, 'minItems'), 'asks for items that items forbids.')
    const rest = isClosed ? null : read(schema['items'] ?? true, inside(place, 'items'), depth + 1)
    return add({ kind: 'array', first, rest, minItems, maxItems }, place)
  }

  function readObject(schema: Json, place: Place, depth: number): NodeId {
    const properties = schema['properties'] ?? {}
    if (!isJsonObject(properties)) throw refuse(inside(place, 'properties'), 'must map names to schemas.')
    const names = inOrder(Object.keys(properties), schema['propertyOrdering'])
    const required = requiredNames(schema, place)
    const more = schema['additionalProperties'] ?? true
    // An empty list of properties alone is how functions without parameters are written.
    const isOpen =
      more !== false && names.length === 0 && ('additionalProperties' in schema || !('properties' in schema))
    spend(work, names.length + required.size)
    const unknown = required.values().find((name) => !Object.hasOwn(properties, name))
    if (unknown !== undefined)
      throw refuse(
        inside(place, 'required'),
        `names ${JSON.stringify(unknown.slice(0, 80))}, which is not in properties.`,
      )
    if (isOpen) return readMap(schema, more, place, depth)
    for (const keyword of ['propertyNames', 'minProperties', 'maxProperties'])
      if (keyword in schema) throw refuse(inside(place, keyword), 'is not supported beside properties.')
    // Only named fields are written, so other fields need no schema, but a schema there is read all the same.
    if (isJsonObject(more)) read(more, inside(place, 'additionalProperties'), depth + 1)
    else if (typeof more !== 'boolean') throw refuse(inside(place, 'additionalProperties'), 'must be a schema.')
    const members = names.map((name): Member => {
      if (!name.isWellFormed()) throw refuse(inside(place, 'properties', name.toWellFormed()), 'must be valid Unicode.')
      const node = read(properties[name], inside(place, 'properties', name), depth + 1)
      return { name, node, isRequired: required.has(name) }
    })
    return add({ kind: 'object', members }, place)
  }

  function readMap(schema: Json, more: unknown, place: Place, depth: number): NodeId {
    const minimum = countAt(schema, 'minProperties', place, 0)
    if (minimum > 1) throw refuse(inside(place, 'minProperties'), 'may be at most 1 without properties.')
    const maxEntries = countAt(schema, 'maxProperties', place, null)
    if (maxEntries !== null && minimum > maxEntries)
      throw refuse(inside(place, 'minProperties'), 'is more than maxProperties.')
    const names = schema['propertyNames']
    const keyAt = inside(place, 'propertyNames')
    const key =
      names === undefined
        ? add(readString({}, place, work), place)
        : read(isTypedElsewhere(names) ? names : { type: 'string', ...(names as Json) }, keyAt, depth + 1)
    if (!isOfStrings(key)) throw refuse(keyAt, 'must be a schema of strings.')
    const value = read(more, inside(place, 'additionalProperties'), depth + 1)
    return add({ kind: 'map', key, value, isNonEmpty: minimum === 1, maxEntries }, place)
  }

  function isOfStrings(id: NodeId, seen = new Set<NodeId>()): boolean {
    if (seen.has(id)) return true
    seen.add(id)
    const node = nodeOf({ nodes, root: id }, id)
    spend(work, node.kind === 'choice' ? node.values.length : stepsOfPart)
    if (node.kind === 'any') return node.of.length > 0 && node.of.every((each) => isOfStrings(each, seen))
    return node.kind === 'string' || (node.kind === 'choice' && node.values.every((value) => value.startsWith('"')))
  }

  /** One node for all places that allow any value. */
  function anyValue(place: Place): NodeId {
    if (anything !== null) return anything
    const id = (anything = add({ kind: 'any', of: [] }, place))
    const text = add(readString({}, place, work), place)
    const number = add(readNumber({}, place), place)
    const word = add({ kind: 'choice', values: ['true', 'false', 'null'] }, place)
    const list = add({ kind: 'array', first: [], rest: id, minItems: 0, maxItems: null }, place)
    const map = add({ kind: 'map', key: text, value: id, isNonEmpty: false, maxEntries: null }, place)
    nodes[id] = { kind: 'any', of: [text, number, word, list, map] }
    return id
  }

  /** Refuses what no answer can end, and alternatives of which several may hold. */
  function refuseEndless(read: AnswerSchema) {
    const least = leastBytes(read, bytes, work)
    const endless = least.findIndex((bytes) => bytes === Infinity)
    if (endless >= 0) throw refuse(places[endless] as Place, 'refers to itself, so that no answer can end.')
    for (const id of exclusive) {
      latest = places[id] as Place
      if (!areDisjoint(read, id, work))
        throw refuse(latest, 'has alternatives under oneOf that may hold together: use anyOf.')
    }
  }

  return { nodes, read, refuseEndless, latestPlace: () => latest }
}

/** Names of properties are strings, so their schema may leave the type out where no reference or alternative says it. */
const isTypedElsewhere = (names: unknown) =>
  !isJsonObject(names) || ['$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in names)

/** Google's propertyOrdering names properties in the order of the answer; what it does not name follows. */
function inOrder(names: string[], order: unknown): string[] {
  if (!Array.isArray(order)) return names
  const places = new Map(order.map((name: unknown, at) => [name, at]))
  const placeOf = (name: string) => places.get(name) ?? order.length
  return names.toSorted((one, other) => placeOf(one) - placeOf(other))
}

function requiredNames(schema: Json, place: Place): Set<string> {
  const required = schema['required'] ?? []
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string'))
    throw refuse(inside(place, 'required'), 'must be a list of names.')
  return new Set(required)
}

const isContainer = (value: unknown): value is Json => typeof value === 'object' && value !== null
const unescapePointer = (key: string) => key.replaceAll('~1', '/').replaceAll('~0', '~')

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
