// Strings and numbers of a schema.
import { automatonOf, shortestLength } from './automaton.ts'
import { withoutLookahead } from './decimal-pattern.ts'
import { annotations, formats, impliedPatterns } from './formats.ts'
import type { NumberRange, SchemaNode, StringRule } from './nodes.ts'
import { BadPattern, parsePattern } from './pattern.ts'
import { countAt, inside, numberAt, refuse, type Json, type Place } from './source.ts'
import { spend } from './steps.ts'
import { newWork, type Work } from './work.ts'

/** The longest that an answer's string may be asked to be at least. */
const maxLeast = 4096
/** Every integer up to here is a double of its own. */
const largest = Number.MAX_SAFE_INTEGER
/** Digits that a double always holds. */
const maxDigits = 15
const largestBound = 10 ** maxDigits
const stepsOfCharacter = 4

export const stringKeywords = ['minLength', 'maxLength', 'pattern', 'format']
/** A format restricts texts only. */
export const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format']

export function readString(schema: Json, place: Place, work: Work): SchemaNode {
  const minLength = countAt(schema, 'minLength', place, 0)
  const maxLength = countAt(schema, 'maxLength', place, null)
  const rules = rulesOf(schema, place, work)
  const automata = rules.map(({ automaton }) => automaton)
  const lengths = { minimum: Math.min(minLength, maxLeast + 1), maximum: maxLength ?? Infinity }
  const least = shortestLength(automata, { ...lengths, work })
  if (least === null) throw refuse(place, 'allows no string: its lengths, pattern and format exclude each other.')
  if (least > maxLeast) throw refuse(place, `asks for more than ${maxLeast} characters.`)
  return { kind: 'string', least, maxLength, rules }
}

function rulesOf({ format, pattern }: Json, place: Place, work: Work): StringRule[] {
  const rules: StringRule[] = []
  if (format !== undefined && !annotations.has(format as string)) {
    const known = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined
    const list = Object.keys(formats).join(', ')
    if (known === undefined) throw refuse(inside(place, 'format'), `is not supported: known formats are ${list}.`)
    rules.push(ruleOf(known, ofFormats))
  }
  if (pattern === undefined || (typeof format === 'string' && impliedPatterns[format] === pattern)) return rules
  if (typeof pattern !== 'string') throw refuse(inside(place, 'pattern'), 'must be a string.')
  return [...rules, orRefused(inside(place, 'pattern'), () => ruleOf(withoutLookahead(pattern), work))]
}

function orRefused<T>(place: Place, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BadPattern)) throw error
    throw refuse(place, error.message)
  }
}

/** Formats are few, so each is read once. */
const ofFormats: Work = { ...newWork(), left: Infinity }

function ruleOf(source: string, work: Work): StringRule {
  const known = work.rules.get(source)
  if (known) return known
  spend(work, stepsOfCharacter * source.length)
  const pattern = parsePattern(source)
  const rule = { pattern, automaton: automatonOf(pattern, work) }
  work.rules.set(source, rule)
  return rule
}

export function readInteger(schema: Json, place: Place): SchemaNode {
  const range = rangeOf(schema, place)
  const step = numberAt(schema, 'multipleOf', place) ?? 1
  if (!Number.isSafeInteger(step) || step < 1 || step > largestBound)
    throw refuse(inside(place, 'multipleOf'), 'must be a whole number of 1 or more for an integer.')
  const { minimum: low, maximum: high, excludesMinimum, excludesMaximum } = range ?? unbounded
  const least = low === null ? -largest : excludesMinimum ? Math.floor(low) + 1 : Math.ceil(low)
  const most = high === null ? largest : excludesMaximum ? Math.ceil(high) - 1 : Math.floor(high)
  const minimum = Math.max(least, -largest)
  const maximum = Math.min(most, largest)
  if (Math.ceil(minimum / step) * step > maximum)
    throw refuse(place, 'allows no integer: its bounds exclude each other.')
  return { kind: 'integer', minimum, maximum, multipleOf: step }
}

export function readNumber(schema: Json, place: Place): SchemaNode {
  const range = rangeOf(schema, place)
  const step = numberAt(schema, 'multipleOf', place)
  if (step !== null && Number.isSafeInteger(step) && step > 0) return readInteger(schema, place)
  const fraction = step === null ? null : fractionOf(step)
  if (step !== null && (fraction === null || step !== Number(`1e-${fraction}`)))
    throw refuse(inside(place, 'multipleOf'), 'must be a whole number, or 0.1, 0.01 and so on.')
  if (!range) return { kind: 'number', range: null, maxFraction: fraction ?? maxDigits }
  for (const bound of [range.minimum, range.maximum])
    if (bound !== null && (Math.abs(bound) >= largestBound || digitsOf(bound) > maxDigits - 3))
      throw refuse(place, `has a bound of more than ${maxDigits - 3} digits.`)
  // Two digits more than the bounds have, so that something lies between bounds that are close together.
  const needed = Math.max(...[range.minimum ?? 0, range.maximum ?? 0].map((bound) => fractionOf(bound) ?? 0)) + 2
  return { kind: 'number', range, maxFraction: fraction ?? Math.max(needed, 6) }
}

const unbounded: NumberRange = { minimum: null, maximum: null, excludesMinimum: false, excludesMaximum: false }

/** The tighter one of `minimum` and `exclusiveMinimum`, and of the others. */
function rangeOf(schema: Json, place: Place): NumberRange | null {
  const [low, above] = [numberAt(schema, 'minimum', place), numberAt(schema, 'exclusiveMinimum', place)]
  const [high, below] = [numberAt(schema, 'maximum', place), numberAt(schema, 'exclusiveMaximum', place)]
  if (low === null && above === null && high === null && below === null) return null
  const excludesMinimum = above !== null && (low === null || above >= low)
  const excludesMaximum = below !== null && (high === null || below <= high)
  const [minimum, maximum] = [excludesMinimum ? above : low, excludesMaximum ? below : high]
  if (
    minimum !== null &&
    maximum !== null &&
    (minimum > maximum || (minimum === maximum && (excludesMinimum || excludesMaximum)))
  )
    throw refuse(place, 'allows no number: its bounds exclude each other.')
  return { minimum, maximum, excludesMinimum, excludesMaximum }
}

/** Digits after the point, or null for a number that JSON writes with a negative exponent beyond them. */
function fractionOf(value: number): number | null {
  const [, fraction = '', exponent = '0'] = /^-?\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const digits = fraction.length - Number(exponent)
  return digits > maxDigits - 3 ? null : Math.max(digits, 0)
}

/** Digits of the fixed-point notation. */
const digitsOf = (value: number) =>
  (fractionOf(value) ?? Infinity) + (Math.abs(value) < 1 ? 0 : String(Math.trunc(Math.abs(value))).length)
