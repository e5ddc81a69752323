// Splits flat rows (objects of strings and numbers) fast, without looking at every byte.
import { parseSpan } from '../domain/validate-row.ts'

const [comma, closeBrace, newline, space] = [0x2c, 0x7d, 0x0a, 0x20]

/**
 * Parses the bytes from `from` (between two elements) to the last comma after a brace. If they are flat objects, and as many
 * braces are followed by a comma, then these commas separate the rows. Overwrites them by line ends, and line ends by spaces.
 * @returns the number of rows and the offset behind them, or null when the slow scanner has to do it
 */
export function takeFlatRows(chunk: Buffer, from: number): { count: number; end: number } | null {
  const last = lastSeparator(chunk, from)
  if (last === -1) return null
  const span = chunk.subarray(from, last)
  const rows = parseSpan(span)
  if (!rows?.every(isFlat)) return null
  const ends = separators(span)
  if (ends.length + 1 !== rows.length) return null
  // JSON strings contain no raw line ends.
  for (let at = span.indexOf(newline); at !== -1; at = span.indexOf(newline, at + 1)) span[at] = space
  for (const end of ends) span[end] = newline
  chunk[last] = newline
  return { count: rows.length, end: last + 1 }
}

function lastSeparator(chunk: Buffer, from: number): number {
  for (let brace = chunk.lastIndexOf(closeBrace); brace >= from && brace !== -1;) {
    const at = afterSpaces(chunk, brace + 1)
    if (chunk[at] === comma) return at
    if (brace === 0) break
    brace = chunk.lastIndexOf(closeBrace, brace - 1)
  }
  return -1
}

function separators(span: Buffer): number[] {
  const found: number[] = []
  for (let brace = span.indexOf(closeBrace); brace !== -1; brace = span.indexOf(closeBrace, brace + 1)) {
    const at = afterSpaces(span, brace + 1)
    if (span[at] === comma) found.push(at)
  }
  return found
}

function afterSpaces(chunk: Buffer, start: number): number {
  let at = start
  for (let byte = chunk[at]; byte === space || byte === newline || byte === 0x0d || byte === 0x09; byte = chunk[at])
    at++
  return at
}

function isFlat(row: object): boolean {
  for (const key in row) {
    const value = (row as Record<string, unknown>)[key]
    if (typeof value === 'object' && value !== null) return false
  }
  return true
}
