// Translates a JSON schema into our typed output, which has one level of named fields. Anything more is refused by its path.
import { parseOutputType, type OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'

type Schema = Record<string, unknown>
type Root = { schema: Schema; at: string }

/** Keywords that do not restrict the value. */
const annotations = ['title', 'description', 'default', 'examples', '$schema', '$id', '$comment']
const definitions = ['$defs', 'definitions']
const ofObject = new Set(['type', 'properties', 'required', 'additionalProperties', ...definitions, ...annotations])
const ofField = new Set(['type', 'enum', 'const', ...annotations])
const ofInteger = new Set([...ofField, 'minimum', 'maximum'])
const ofReference = new Set(['$ref', ...annotations])
/** With a single schema in their list, these mean that schema. */
const combiners = ['anyOf', 'allOf', 'oneOf']
const fieldTypes = ['string', 'integer', 'number', 'boolean']

/** @param at the path of the schema in the request. @throws ServiceError invalid_input naming the part of the schema */
export function outputTypeOfSchema(schema: Schema, at: string): OutputType | null {
  if (schema['type'] !== 'object') throw refuse(`${at}.type`, 'must be "object"')
  requireOnly(schema, ofObject, at)
  const properties = schema['properties']
  if (!isSchema(properties) || Object.keys(properties).length === 0)
    throw refuse(`${at}.properties`, 'must name at least one field')
  requireNames(schema['required'], properties, `${at}.required`)
  if (!['undefined', 'boolean'].includes(typeof schema['additionalProperties']))
    throw refuse(`${at}.additionalProperties`, 'must be true or false: a schema there is not supported')
  const typeAt = (field: unknown, path: string) => typeOf(...resolve({ schema, at }, field, path))
  // Object.fromEntries keeps a field named __proto__.
  return parseOutputType(
    Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, typeAt(field, `${at}.properties.${name}`)]),
    ),
  )
}

/**
 * Pydantic puts the schema of an Enum class into `$defs`; it and pydantic-ai put a reference with a default into a list of one.
 * @returns the schema that `field` refers to, with its path
 */
function resolve(root: Root, field: unknown, path: string, seen: readonly string[] = []): [unknown, string] {
  if (!isSchema(field)) return [field, path]
  const combiner = combiners.find((keyword) => Array.isArray(field[keyword]) && field[keyword].length === 1)
  if (combiner) {
    requireOnly(field, new Set([combiner, ...annotations]), path)
    return resolve(root, (field[combiner] as unknown[])[0], `${path}.${combiner}[0]`, seen)
  }
  if (!('$ref' in field)) return [field, path]
  requireOnly(field, ofReference, path)
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(field['$ref'])) ?? []
  const defined = root.schema[group]
  if (!isSchema(defined) || !Object.hasOwn(defined, name))
    throw refuse(`${path}.$ref`, 'must name a schema of $defs, as in "#/$defs/Color"')
  const target = `${root.at}.${group}.${name}`
  if (seen.includes(target)) throw refuse(target, 'refers to itself')
  return resolve(root, defined[name], target, [...seen, target])
}

function requireNames(required: unknown, properties: Schema, path: string) {
  if (required === undefined) return
  const areNames = Array.isArray(required) && required.every((name) => typeof name === 'string')
  if (!areNames || !required.every((name) => Object.hasOwn(properties, name)))
    throw refuse(path, 'must be a list of names of the properties')
}

/** @returns the type in the syntax of `output_type` */
function typeOf(field: unknown, path: string): string | unknown[] {
  if (!isSchema(field)) throw refuse(path, 'must be a schema')
  const type = field['type']
  requireOnly(field, type === 'integer' ? ofInteger : ofField, path)
  requireNoNarrowing(field, path)
  if ('const' in field) return [field['const']]
  if ('enum' in field) {
    if (!Array.isArray(field['enum'])) throw refuse(`${path}.enum`, 'must be a list')
    return field['enum']
  }
  if (typeof type === 'string' && fieldTypes.includes(type)) return type
  throw refuse(`${path}.type`, 'must be string, integer, number or boolean: nested values are not supported')
}

/** Every integer of an answer is a safe one. Some clients write these bounds into the schema. */
function requireNoNarrowing({ minimum, maximum }: Schema, path: string) {
  const most = Number.MAX_SAFE_INTEGER
  if (minimum !== undefined && !(typeof minimum === 'number' && minimum <= -most))
    throw refuse(`${path}.minimum`, `must be ${-most} or less: other bounds are not supported`)
  if (maximum !== undefined && !(typeof maximum === 'number' && maximum >= most))
    throw refuse(`${path}.maximum`, `must be ${most} or more: other bounds are not supported`)
}

function requireOnly(schema: Schema, known: ReadonlySet<string>, path: string) {
  const other = Object.keys(schema).find((keyword) => !known.has(keyword))
  if (other !== undefined) throw refuse(`${path}.${other}`, 'is not supported')
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function refuse(path: string, what: string) {
  const where = path.slice(0, 300)
  return invalidInput(where, `${where} ${what}.`)
}
