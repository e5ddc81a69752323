// Parses `output_type`, the named fields that a typed completion answers, in their order.
import { invalidInput } from './service-error.ts'

export type EnumValue = string | number | boolean

export type FieldType =
  { kind: 'str' } | { kind: 'int' } | { kind: 'float' } | { kind: 'bool' } | { kind: 'enum'; values: EnumValue[] }

export type OutputField = { name: string; type: FieldType }

/** At least one field; names are unique. */
export type OutputType = readonly OutputField[]

const kinds = {
  str: 'str',
  string: 'str',
  int: 'int',
  integer: 'int',
  float: 'float',
  number: 'float',
  bool: 'bool',
  boolean: 'bool',
} as const

const maxFields = 64
const longestNameCharacters = 64
/** JSON length of all enums together: the engine compiles them into a grammar. */
const maxEnumCharacters = 32_768
const refusedNames = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses an object such as `{"name": "str", "color": ["red", "white"]}`.
 * @returns null for null and `{}`: an untyped completion
 * @throws ServiceError invalid_input with the path of the field
 */
export function parseOutputType(value: unknown): OutputType | null {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidInput('output_type', 'output_type must be an object that maps field names to types.')
  const entries = Object.entries(value)
  if (entries.length === 0) return null
  if (entries.length > maxFields) throw invalidInput('output_type', `output_type may have at most ${maxFields} fields.`)
  const fields = entries.map(([name, type]) => ({ name: parseName(name), type: parseType(name, type) }))
  const enumCharacters = fields.reduce((sum, { type }) => sum + (type.kind === 'enum' ? jsonLength(type.values) : 0), 0)
  if (enumCharacters > maxEnumCharacters) throw tooManyCharacters()
  return fields
}

const tooManyCharacters = () =>
  invalidInput(
    'output_type',
    `The enums of output_type may have at most ${maxEnumCharacters} characters of JSON together.`,
  )

function parseName(name: string): string {
  const length = Array.from(name).length
  if (length < 1 || length > longestNameCharacters)
    throw invalidField(name, `A field name of output_type must have 1 to ${longestNameCharacters} characters.`)
  if (refusedNames.has(name))
    throw invalidField(name, `output_type cannot have a field named ${name}: choose another name.`)
  if (!name.isWellFormed()) throw invalidField(name, 'Field names of output_type must be valid Unicode.')
  return name
}

function parseType(name: string, type: unknown): FieldType {
  if (Array.isArray(type)) return { kind: 'enum', values: parseEnum(name, type) }
  const word = typeof type === 'string' ? type.replace(/^#/, '') : ''
  if (!Object.hasOwn(kinds, word))
    throw invalidField(
      name,
      `The type of ${shown(name)} must be "str", "int", "float", "bool" or a list of the allowed values.`,
    )
  return { kind: kinds[word as keyof typeof kinds] }
}

function parseEnum(name: string, values: unknown[]): EnumValue[] {
  if (values.length === 0)
    throw invalidField(name, `The list of values of ${shown(name)} must hold at least one value.`)
  // Each value has a character at least.
  if (values.length > maxEnumCharacters) throw tooManyCharacters()
  for (const value of values) {
    const isPlain =
      typeof value === 'boolean' ||
      (typeof value === 'number' && Number.isFinite(value)) ||
      (typeof value === 'string' && value.isWellFormed())
    if (!isPlain) throw invalidField(name, `The values of ${shown(name)} must be strings, numbers or booleans.`)
  }
  return [...new Set(values as EnumValue[])]
}

const shown = (name: string) => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)
const invalidField = (name: string, message: string) => invalidInput(`output_type.${name.slice(0, 80)}`, message)
const jsonLength = (value: unknown) => JSON.stringify(value).length
