// Terminals of the grammar: strings and numbers, no longer than their budget.
import type { SchemaNode } from '../../domain/answer-schema/nodes.ts'
import { longestNumber, wholeNumbersIn, type Prices } from '../../domain/answer-schema/least-bytes.ts'
import { anyCharacter } from '../../domain/answer-schema/pattern.ts'
import type { Steps } from '../../domain/answer-schema/steps.ts'
import { character } from '../typed-output.ts'
import { fixedPointRegex, regexOfPattern, wholeNumberRegex } from './regexes.ts'

type Of<Kind extends SchemaNode['kind']> = Extract<SchemaNode, { kind: Kind }>

/** The longest string without a bound of its own: each character takes a state of the engine's lexer. */
const maxCharacters = 4096
const safeDigits = 15

/** Characters that the budget allows, rounded down so that few different grammars are compiled. */
export function stringTerminal(
  { least, maxLength, rules }: Of<'string'>,
  budget: number,
  prices: Prices,
  work: Steps,
): string {
  const affordable = Math.floor((budget - 2 * prices.byte) / prices.character)
  const most = Math.min(powerOfTwoUpTo(affordable), maxLength ?? Infinity, maxCharacters)
  const lengths = `{${least},${Math.max(least, most)}}`
  const plain = regexLiteral(`"${character}${lengths}"`)
  if (rules.length === 0) return plain
  const patterns = rules.map(({ pattern }) => regexLiteral(`"${regexOfPattern(pattern, work)}"`))
  return [...patterns, regexLiteral(`"(${regexOfPattern(anyCharacter, work)})${lengths}"`)].join(' & ')
}

export const longestString = ({ maxLength, least }: Of<'string'>, { byte, character }: Prices) =>
  2 * byte + Math.max(least, Math.min(maxLength ?? maxCharacters, maxCharacters)) * character

export function integerTerminal(node: Of<'integer'>, budget: number, { byte }: Prices): string {
  if (node.multipleOf > 1) {
    const { minimum, maximum, multipleOf } = node
    return `%json ${JSON.stringify({ type: 'integer', minimum, maximum, multipleOf })}`
  }
  const [low, high] = withinDigits(node.minimum, node.maximum, Math.floor(budget / byte))
  return regexLiteral(wholeNumberRegex(BigInt(low), BigInt(high)))
}

/** Narrows the range to integers that fit, as long as some do. */
function withinDigits(minimum: number, maximum: number, length: number): [number, number] {
  const positive = length > 16 ? Number.MAX_SAFE_INTEGER : 10 ** Math.max(length, 1) - 1
  const negative = length > 16 ? Number.MAX_SAFE_INTEGER : 10 ** Math.max(length - 1, 0) - 1
  const [low, high] = [Math.max(minimum, -negative), Math.min(maximum, positive)]
  return low <= high ? [low, high] : [minimum, maximum]
}

export function numberTerminal(node: Of<'number'>, budget: number, { byte }: Prices): string {
  const length = Math.floor(budget / byte)
  const whole = wholeNumbersIn(node.range)
  if (length < longestNumber(node) && whole) {
    const [low, high] = withinDigits(...whole, length)
    return regexLiteral(wholeNumberRegex(BigInt(low), BigInt(high)))
  }
  if (!node.range) {
    const exponent = node.maxFraction === safeDigits ? '([eE][+-]?[0-9]{1,2})?' : ''
    return regexLiteral(`-?(0|[1-9][0-9]{0,${safeDigits - 1}})(\\.[0-9]{1,${node.maxFraction}})?${exponent}`)
  }
  return regexLiteral(rangeRegex(node.range, node.maxFraction))
}

/** All numbers of the range with up to so many digits after the point, and no more digits than a double holds. */
function rangeRegex(range: NonNullable<Of<'number'>['range']>, maxFraction: number): string {
  const parts: string[] = []
  for (let fraction = 0; fraction <= maxFraction; fraction++) {
    const widest = 10n ** BigInt(safeDigits) - 1n
    const low = max(scaled(range.minimum, fraction, 'up', range.excludesMinimum) ?? -widest, -widest)
    const high = min(scaled(range.maximum, fraction, 'down', range.excludesMaximum) ?? widest, widest)
    if (low <= high) parts.push(fixedPointRegex(low, high, fraction))
  }
  return `(${parts.join('|')})`
}

/** The bound in units of the last digit after the point, inside of the range. */
function scaled(bound: number | null, fraction: number, inward: 'up' | 'down', isExcluded: boolean): bigint | null {
  if (bound === null) return null
  // toFixed writes up to 100 digits, exactly as the bound's own shortest text has them.
  const text = decimalText(bound)
  const [whole = '0', digits = ''] = text.replace('-', '').split('.')
  const sign = text.startsWith('-') ? -1n : 1n
  const padded = digits.padEnd(fraction, '0')
  const value = sign * BigInt(whole + padded.slice(0, fraction))
  const isExact = /^0*$/.test(padded.slice(fraction))
  if (isExact) return isExcluded ? value + (inward === 'up' ? 1n : -1n) : value
  if (inward === 'up') return sign > 0n ? value + 1n : value
  return sign > 0n ? value : value - 1n
}

function decimalText(value: number): string {
  const [mantissa = '0', exponent = '0'] = String(value).split('e')
  if (exponent === '0') return mantissa
  const [whole = '0', digits = ''] = mantissa.replace('-', '').split('.')
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(-Number(exponent) - whole.length)}${whole}${digits}`
}

const max = (one: bigint, other: bigint) => (one > other ? one : other)
const min = (one: bigint, other: bigint) => (one < other ? one : other)
const powerOfTwoUpTo = (value: number) => (value < 1 ? 0 : 2 ** Math.floor(Math.log2(value)))

const regexLiteral = (regex: string) => `/${regex.replaceAll('/', '\\/')}/`
