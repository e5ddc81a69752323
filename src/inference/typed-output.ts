// Typed output is one bounded regex, which constrains the engine's decoding, and a check of each answer afterwards. The regex
// uses only plain constructs, so that llguidance, xgrammar and outlines read it alike. It is bounded because a model that may
// go on with digits or characters does so until its tokens run out.
import type { EnumValue, FieldType, OutputField, OutputType } from '../domain/output-type.ts'

/** JSON text that is kept as written when the value is serialised: clients that tell 3 from 3.0 see a float in `3.0`. */
type RawJson = { readonly rawJSON: string }
export type OutputValue = string | number | boolean | RawJson

/** Any character but quote, backslash and controls, or an escape. No NUL (databases refuse it), no lone surrogate. */
export const character = String.raw`([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u00(0[1-9a-f]|1[0-9a-f]))`
/** The longest `character` in UTF-8: a six-byte escape. Byte-level tokens may be as short as one byte. */
export const characterBytes = 6
/** Digits that a double always holds. */
export const maxDigits = 15
const longestInteger = 17
const longestFloat = 36

/**
 * `characters`: the most per string; an escape counts as one. `digits`: the most of a number, before and after its point;
 * with `maxDigits` integers go to ±(2^53 - 1) and floats may have an exponent.
 */
export type Limits = { characters: number; digits: number }

export function typedOutputRegex(fields: OutputType, { characters, digits }: Limits): string {
  return regexOf(fields, `{0,${characters}}`, digits)
}

/** Bytes of the longest answer without the characters of its strings, which is also an upper bound of its tokens. */
export function structureBytes(fields: OutputType): number {
  const known = knownSizes.get(fields)
  if (known !== undefined) return known
  const size = fields.reduce((sum, { name, type }) => sum + byteLength(JSON.stringify(name)) + 2 + valueBytes(type), 2)
  knownSizes.set(fields, size)
  return size
}

/** Each of thousands of prompts asks, and a list of values may be long. */
const knownSizes = new WeakMap<OutputType, number>()

export const stringFieldCount = (fields: OutputType) => fields.filter(({ type }) => type.kind === 'str').length

/** @returns a parser of answers of this type, which returns null for any other answer */
export function createAnswerParser(outputType: OutputType): (text: string) => Record<string, OutputValue> | null {
  const fields = outputType.map(parsedField)
  return (text) => {
    // JSON.parse hides repeated keys, another order, and blanks.
    if (!text.isWellFormed() || !isWrittenPlainly(fields, text)) return null
    const parsed = parseObject(text)
    if (!parsed || Object.keys(parsed).length !== fields.length) return null
    const answer: Record<string, OutputValue> = {}
    for (const { name, type, values } of fields) {
      if (!Object.hasOwn(parsed, name) || !isOfType(parsed[name], type, values)) return null
      // defineProperty calls no setter, whatever the name.
      Object.defineProperty(answer, name, { value: outputValue(parsed[name], type), ...ordinary })
    }
    return answer
  }
}

/** `texts` and `values` of an enum: a list of values may be long, and is looked up for each of thousands of answers. */
type ParsedField = { name: string; type: FieldType; texts: Set<string>; values: Set<unknown> }

function parsedField({ name, type }: OutputField): ParsedField {
  const values = type.kind === 'enum' ? type.values : []
  return { name, type, texts: new Set(values.map((value) => JSON.stringify(value))), values: new Set(values) }
}

/**
 * Field by field, because V8 needs 2.5 ms to compile one regex for a type of 16 fields, and callers may send a new type with each
 * request.
 */
function isWrittenPlainly(fields: readonly ParsedField[], text: string): boolean {
  let at = 0
  for (const [index, field] of fields.entries()) {
    const key = `${index === 0 ? '{' : ','}${JSON.stringify(field.name)}:`
    if (!text.startsWith(key, at)) return false
    at = endOfValue(field, text, at + key.length)
    if (at === -1) return false
  }
  return text.slice(at) === '}'
}

/** @returns where the value that begins at `at` ends; -1 if it is not of the type */
function endOfValue({ type, texts }: ParsedField, text: string, at: number): number {
  if (type.kind === 'enum') {
    anyValue.lastIndex = at
    const [value] = anyValue.exec(text) ?? []
    return value !== undefined && texts.has(value) ? at + value.length : -1
  }
  const value = plainValues[type.kind]
  value.lastIndex = at
  return value.test(text) ? value.lastIndex : -1
}

const ordinary = { enumerable: true, configurable: true, writable: true }

function regexOf(fields: OutputType, quantifier: string, digits: number): string {
  const members = fields.map(
    ({ name, type }) => `${literal(JSON.stringify(name))}:${valueRegex(type, quantifier, digits)}`,
  )
  return String.raw`\{${members.join(',')}\}`
}

function valueRegex(type: FieldType, quantifier: string, digits: number): string {
  switch (type.kind) {
    case 'str':
      return `"${character}${quantifier}"`
    case 'int':
      return `(0|-?(${digits < maxDigits ? `[1-9][0-9]{0,${digits - 1}}` : safeInteger}))`
    case 'float':
      return `-?(0|[1-9][0-9]{0,${digits - 1}})(\\.[0-9]{1,${digits}})?${digits < maxDigits ? '' : exponent}`
    case 'bool':
      return '(true|false)'
    case 'enum':
      return `(${type.values.map((value) => literal(JSON.stringify(value))).join('|')})`
  }
}

function valueBytes(type: FieldType): number {
  switch (type.kind) {
    case 'str':
      return 2
    case 'int':
      return longestInteger
    case 'float':
      return longestFloat
    case 'bool':
      return 5
    case 'enum':
      return Math.max(...type.values.map((value) => byteLength(JSON.stringify(value))))
  }
}

function isOfType(value: unknown, type: FieldType, values: ReadonlySet<unknown>): value is EnumValue {
  switch (type.kind) {
    case 'str':
      return typeof value === 'string' && value.isWellFormed()
    case 'int':
      return Number.isSafeInteger(value)
    case 'float':
      return Number.isFinite(value)
    case 'bool':
      return typeof value === 'boolean'
    case 'enum':
      return values.has(value)
  }
}

function outputValue(value: unknown, type: FieldType): OutputValue {
  const isWholeFloat = type.kind === 'float' && Number.isInteger(value)
  return isWholeFloat ? wholeFloat(value as number) : (value as EnumValue)
}

/** Beyond 21 digits JSON writes an exponent, which already reads as a float. */
function wholeFloat(value: number): OutputValue {
  const text = JSON.stringify(value)
  return text.includes('e') ? value : rawJson(`${text}.0`)
}

// Part of ES2026 and of Node 24, but not yet of TypeScript's library.
const rawJson = (JSON as unknown as { rawJSON: (this: void, text: string) => RawJson }).rawJSON

function parseObject(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return null
  }
}

/** Numbers from 1 to `digits` as alternatives: fewer digits, or equal first digits and then a smaller one. */
function wholeNumbersUpTo(digits: string): string {
  const shorter = `[1-9][0-9]{0,${digits.length - 2}}`
  const sameLength = digits.split('').flatMap((digit, at) => {
    const lowest = at === 0 ? 1 : 0
    if (Number(digit) <= lowest) return []
    const rest = digits.length - at - 1
    return [`${digits.slice(0, at)}[${lowest}-${Number(digit) - 1}]${rest > 0 ? `[0-9]{${rest}}` : ''}`]
  })
  return [shorter, ...sameLength, digits].join('|')
}

const safeInteger = wholeNumbersUpTo(String(Number.MAX_SAFE_INTEGER))
const exponent = '([eE][+-]?[0-9]{1,2})?'

/** Each reads on from its `lastIndex` to the comma or brace after a value. */
const plainValue = (kind: 'str' | 'int' | 'float' | 'bool') =>
  new RegExp(`${valueRegex({ kind }, '*', maxDigits)}(?=[,}])`, 'uy')
const plainValues = {
  str: plainValue('str'),
  int: plainValue('int'),
  float: plainValue('float'),
  bool: plainValue('bool'),
}

/** A string, a number or a word, up to the comma or brace after it. */
const anyValue = /(?:"(?:[^"\\]|\\.)*"|[^,}"]+)(?=[,}])/uy

const literal = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
const byteLength = (text: string) => Buffer.byteLength(text)
