// The quick way through a body: rows of texts and numbers one after another, most of them found without looking at every byte.
import { parseRun } from './validate-row.ts'

const [comma, closeBrace, newline, space] = [0x2c, 0x7d, 0x0a, 0x20]

/**
 * From an offset between two elements to the last comma that seems to end one. What parses as a list of flat objects has as many
 * ends; if that many braces are followed by a comma, these are the ends. They become line ends, and line ends spaces.
 * @returns the number of rows and the offset behind them, or null when it takes a closer look
 */
export function takeFlatRows(chunk: Buffer, from: number): { count: number; end: number } | null {
  const last = lastSeparator(chunk, from)
  if (last === -1) return null
  const run = chunk.subarray(from, last)
  const rows = parseRun(run)
  if (!rows?.every(isFlat)) return null
  const ends = separators(run)
  if (ends.length + 1 !== rows.length) return null
  // Within strings JSON has none.
  for (let at = run.indexOf(newline); at !== -1; at = run.indexOf(newline, at + 1)) run[at] = space
  for (const end of ends) run[end] = newline
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

function separators(run: Buffer): number[] {
  const found: number[] = []
  for (let brace = run.indexOf(closeBrace); brace !== -1; brace = run.indexOf(closeBrace, brace + 1)) {
    const at = afterSpaces(run, brace + 1)
    if (run[at] === comma) found.push(at)
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
