// Patterns and numbers as regexes of their JSON text, in the plain syntax that llguidance reads.
import { without, intersect, type CharacterSet, type Pattern } from '../../domain/answer-schema/pattern.ts'
import { spend, type Steps } from '../../domain/answer-schema/steps.ts'

const stepsOfSet = 60
const stepsOfRange = 4

/** Characters that JSON writes as an escape. */
const escaped: CharacterSet = [
  [0x01, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
]
const notEscaped = without(escaped)
const shortEscapes: Readonly<Record<number, string>> = {
  0x08: '\\\\b',
  0x09: '\\\\t',
  0x0a: '\\\\n',
  0x0c: '\\\\f',
  0x0d: '\\\\r',
  0x22: '\\\\"',
  0x5c: '\\\\\\\\',
}

/** @returns the texts of the pattern, without quotes. @throws TooMuchWork */
export function regexOfPattern(pattern: Pattern, work: Steps): string {
  const inner = (part: Pattern) => regexOfPattern(part, work)
  spend(work, 1)
  switch (pattern.kind) {
    case 'set':
      return regexOfSet(pattern.set, work)
    case 'sequence':
      return pattern.parts.map(inner).join('')
    case 'choice':
      return `(${pattern.parts.map(inner).join('|')})`
    case 'repeat': {
      const most = pattern.max === Infinity ? '' : pattern.max
      return `(${inner(pattern.part)}){${pattern.min},${most}}`
    }
  }
}

/** Most patterns have the same few classes. */
const knownSets = new WeakMap<CharacterSet, string>()

function regexOfSet(set: CharacterSet, work: Steps): string {
  spend(work, stepsOfSet + stepsOfRange * set.length)
  const regex = knownSets.get(set) ?? writeSet(set)
  knownSets.set(set, regex)
  return regex
}

function writeSet(set: CharacterSet): string {
  const plain = intersect(set, notEscaped)
  const parts = intersect(set, escaped).flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, offset) => escapeOf(from + offset)),
  )
  // A class that matches nothing.
  if (plain.length === 0 && parts.length === 0) return '[^\\x00-\\x{10ffff}]'
  if (plain.length > 0) parts.unshift(`[${plain.map(([from, to]) => `${point(from)}-${point(to)}`).join('')}]`)
  return parts.length === 1 ? (parts[0] as string) : `(${parts.join('|')})`
}

const point = (code: number) => `\\x{${code.toString(16)}}`
const escapeOf = (code: number) => shortEscapes[code] ?? `\\\\u${code.toString(16).padStart(4, '0')}`

/** Whole numbers from `low` to `high`. */
export const wholeNumberRegex = (low: bigint, high: bigint) => fixedPointRegex(low, high, 0)

/** Numbers with exactly `fraction` digits after the point. `low` and `high` are in units of the last digit, sign apart. */
export function fixedPointRegex(low: bigint, high: bigint, fraction: number): string {
  const parts: string[] = []
  if (low < 0n) parts.push(`-(${digitsBetween(high < 0n ? -high : 1n, -low, fraction)})`)
  if (high >= 0n) parts.push(digitsBetween(low > 0n ? low : 0n, high, fraction))
  return `(${parts.join('|')})`
}

/** Numbers of 0 or more as alternatives, length by length: equal first digits, then a range of a digit, then any digits. */
function digitsBetween(low: bigint, high: bigint, fraction: number): string {
  const alternatives: string[] = []
  const shortest = fraction + 1
  const [from, to] = [String(low).padStart(shortest, '0'), String(high).padStart(shortest, '0')]
  const between = to.length - from.length - 2
  for (const length of new Set([from.length, to.length])) {
    const least = length === from.length ? from : `1${'0'.repeat(length - 1)}`
    const most = length === to.length ? to : '9'.repeat(length)
    for (const digits of ofOneLength(least, most)) alternatives.push(withPoint(digits, fraction))
  }
  if (between >= 0) {
    const whole = from.length - fraction
    alternatives.push(`[1-9][0-9]{${whole},${whole + between}}${fraction === 0 ? '' : `\\.[0-9]{${fraction}}`}`)
  }
  return alternatives.join('|')
}

type Digits = (readonly [string, string])[]

/** @param start what stands before the digits in each alternative */
function ofOneLength(low: string, high: string, start: Digits = []): Digits[] {
  if (low === '') return [start]
  const [first, last] = [low[0] as string, high[0] as string]
  if (first === last) return ofOneLength(low.slice(1), high.slice(1), [...start, [first, first]])
  const rest = low.length - 1
  const [zeros, nines] = ['0'.repeat(rest), '9'.repeat(rest)]
  const [isLowest, isHighest] = [low.slice(1) === zeros, high.slice(1) === nines]
  const between: [string, string] = [isLowest ? first : next(first, 1), isHighest ? last : next(last, -1)]
  const any: Digits = Array.from({ length: rest }, () => ['0', '9'] as const)
  return [
    ...(isLowest ? [] : ofOneLength(low.slice(1), nines, [...start, [first, first]])),
    ...(between[0] <= between[1] ? [[...start, between, ...any]] : []),
    ...(isHighest ? [] : ofOneLength(zeros, high.slice(1), [...start, [last, last]])),
  ]
}

const next = (digit: string, step: number) => String(Number(digit) + step)

function withPoint(digits: Digits, fraction: number): string {
  const point = digits.length - fraction
  return fraction === 0 ? runs(digits) : `${runs(digits.slice(0, point))}\\.${runs(digits.slice(point))}`
}

function runs(digits: Digits): string {
  const free = digits.length - 1 - digits.findLastIndex(([low, high]) => low !== '0' || high !== '9')
  const texts = digits.slice(0, digits.length - free).map(([low, high]) => (low === high ? low : `[${low}-${high}]`))
  return texts.join('') + (free === 0 ? '' : `[0-9]{${free}}`)
}
