// Parses the JSON of a row, and refuses what the trainer could not read in the same way.
import { excessOfLong } from '../domain/json-bounds.ts'
import { isObject } from './row-fields.ts'
import { quoted } from './shown-names.ts'

/** The trainer's parser recurses at each level. */
const maxDepth = 100
/** Python refuses to read longer whole numbers. */
const maxDigits = 4000

type ParsedRow = { value: unknown } | { problem: string }

export function parseRow(text: string): ParsedRow {
  const excess = excessOfLong(text)
  if (excess !== null) return { problem: excess }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'is not valid JSON' }
  }
  const problem = problemOf(value, text)
  return problem === null ? { value } : { problem }
}

/** For JSON that the trainer gets as text. @returns the object, or why the trainer could not read it */
export function parseObject(text: string): { value: Record<string, unknown> } | { problem: string } {
  const parsed = parseRow(text)
  if ('problem' in parsed) return parsed
  if (!isObject(parsed.value)) return { problem: 'is not a JSON object in a string' }
  if (hasLongNumber(text)) return { problem: `holds a number of more than ${maxDigits} digits` }
  return { value: parsed.value }
}

const tooDeep = `is nested more than ${maxDepth} levels deep`
/** Files are UTF-8, so only an escape can write a lone surrogate. */
const halfCharacter = String.raw`contains half of a character, such as \ud83e: a text was cut within an emoji or a rare letter`

function problemOf(value: unknown, text: string): string | null {
  const count = { keys: 0 }
  const problem = walk(value, count, 1)
  if (problem !== null) return problem
  // Each key stands before a quote and a colon. Texts may contain both, too, so a larger number says nothing yet.
  const twice = countColons(text) === count.keys ? null : keyTwice(text)
  return twice === null ? null : `has the key ${quoted(twice)} twice, and only one of the values could be read`
}

/** Counts the keys of all objects. */
function walk(value: unknown, count: { keys: number }, depth: number): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : halfCharacter
  if (typeof value !== 'object' || value === null) return null
  if (depth > maxDepth) return tooDeep
  if (!Array.isArray(value))
    for (const key of Object.keys(value)) {
      count.keys++
      if (!key.isWellFormed()) return halfCharacter
    }
  for (const inner of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) {
    const problem = walk(inner, count, depth + 1)
    if (problem !== null) return problem
  }
  return null
}

const quote = 0x22
const backslash = 0x5c
const space = 0x20

/** Counts the colons behind a quote, within texts too. */
function countColons(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1
    while (text.charCodeAt(before) <= space) before--
    if (text.charCodeAt(before) === quote) count++
  }
  return count
}

function keyTwice(text: string): string | null {
  const levels: Set<string>[] = []
  let last = ''
  for (const { piece, isString } of pieces(text)) {
    if (isString) {
      last = piece
      continue
    }
    if (last !== '' && piece.trimStart().startsWith(':')) {
      const key = JSON.parse(last) as string
      if (levels.at(-1)?.has(key)) return key
      levels.at(-1)?.add(key)
    }
    for (const sign of piece)
      if (sign === '{') levels.push(new Set())
      else if (sign === '}') levels.pop()
  }
  return null
}

const hasLongNumber = (text: string) =>
  text.length > maxDigits &&
  pieces(text).some(
    ({ piece, isString }) => !isString && (piece.match(/\d+/g) ?? []).some((run) => run.length > maxDigits),
  )

/** Yields the strings of valid JSON, with their quotes, and what stands between them. */
function* pieces(text: string): Generator<{ piece: string; isString: boolean }> {
  for (let from = 0; ;) {
    const start = text.indexOf('"', from)
    if (start !== from) yield { piece: text.slice(from, start === -1 ? text.length : start), isString: false }
    if (start === -1) return
    let end = text.indexOf('"', start + 1)
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
    yield { piece: text.slice(start, end + 1), isString: true }
    from = end + 1
  }
}

/** Whether an odd number of backslashes stands before the quote. */
function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text.charCodeAt(from - 1) === backslash) from--
  return (at - from) % 2 === 1
}
