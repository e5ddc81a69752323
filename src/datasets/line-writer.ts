// Elements of a JSON array become lines: checked to be objects that our stores can hold, their bytes left as they are.
import { isUtf8 } from 'node:buffer'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import type { ElementBytes } from './json-rows.ts'

const deepestRow = 32
const newline = 0x0a
const [openBracket, comma, closeBracket] = [0x5b, 0x2c, 0x5d]
/** A larger one is not kept for the next piece. */
const keptBytes = 1024 * 1024

type PathOf = (index: number) => string
export type LineWriter = ReturnType<typeof createLineWriter>

/** Its memory is used again for every piece of a body. */
export function createLineWriter(rowLimitBytes: number) {
  let buffer = Buffer.allocUnsafe(128 * 1024)
  let filled = 0

  function makeRoom(moreBytes: number) {
    if (filled + moreBytes <= buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(filled + moreBytes, 2 * buffer.length))
    buffer.copy(larger, 0, 0, filled)
    buffer = larger
  }

  /** One parse for all of them, as an array; its commas then become line ends. @returns false when something is wrong */
  function addAtOnce(elements: ElementBytes[]): boolean {
    const start = filled
    const ends: number[] = []
    makeRoom(elements.reduce((total, { bytes }) => total + bytes.length + 1, 2))
    buffer[filled++] = openBracket
    for (const { bytes, hasLineEnds } of elements) {
      if (hasLineEnds || bytes.length > rowLimitBytes) break
      filled += bytes.copy(buffer, filled, firstSign(bytes), lastSign(bytes) + 1)
      ends.push(filled)
      buffer[filled++] = comma
    }
    const array = buffer.subarray(start, filled)
    array[array.length - 1] = closeBracket
    if (ends.length === elements.length && areRows(array, elements.length)) {
      for (const end of ends) buffer[end] = newline
      buffer.copyWithin(start, start + 1, filled)
      filled--
      return true
    }
    filled = start
    return false
  }

  function addOne({ bytes }: ElementBytes, path: string) {
    if (bytes.length > rowLimitBytes) throw rowTooLarge(path, rowLimitBytes)
    const line = Buffer.from(`${JSON.stringify(readRow(bytes, path))}\n`)
    makeRoom(line.length)
    filled += line.copy(buffer, filled)
  }

  return {
    begin() {
      filled = 0
      if (buffer.length > keptBytes) buffer = Buffer.allocUnsafe(128 * 1024)
    },
    /** @throws ServiceError invalid_input, payload_too_large */
    add(elements: ElementBytes[], pathOf: PathOf) {
      if (elements.length === 0 || addAtOnce(elements)) return
      for (const [index, element] of elements.entries()) addOne(element, pathOf(index))
    },
    written: () => buffer.subarray(0, filled),
  }
}

function areRows(array: Buffer, count: number): boolean {
  if (!isUtf8(array)) return false
  const text = array.toString('utf8')
  // Only an escape can bring in what our stores cannot hold: looked at one by one.
  if (text.includes('\\u') && /\\u(0000|d[89a-f])/i.test(text)) return false
  try {
    const rows = JSON.parse(text) as unknown[]
    return rows.length === count && rows.every(isRow)
  } catch {
    return false
  }
}

/** @throws ServiceError invalid_input */
function readRow(bytes: Buffer, path: string): object {
  if (!isUtf8(bytes)) throw invalidInput(path, 'The body must be JSON in UTF-8; it holds bytes that are not.')
  const text = bytes.toString('utf8')
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read'
    throw invalidInput(path, `${path} is not valid JSON: ${reason}.`)
  }
  if (!isRow(row)) throw invalidInput(path, `${path} must be an object, nested at most ${deepestRow} deep.`)
  if (text.includes('\\u')) refuseBadText(row, path)
  return row
}

function refuseBadText(row: object, path: string) {
  // Written out, NUL and lone surrogates stay escaped; an escaped backslash before such a word is text.
  const escapes = JSON.stringify(row).replaceAll('\\\\', '')
  if (escapes.includes('\\u0000')) throw invalidInput(path, `${path} must not contain NUL characters.`)
  if (/\\ud[89a-f]/.test(escapes)) throw invalidInput(path, `${path} must be valid Unicode, without lone surrogates.`)
}

/** Does not recurse: the depth is the client's. */
function isRow(row: unknown): row is object {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return false
  let level: object[] = [row]
  for (let depth = 0; depth < deepestRow; depth++) {
    const next: object[] = []
    for (const each of level)
      for (const key in each) {
        const inner = (each as Record<string, unknown>)[key]
        if (typeof inner === 'object' && inner !== null) next.push(inner)
      }
    if (next.length === 0) return true
    level = next
  }
  return false
}

export const rowTooLarge = (path: string, limitBytes: number) =>
  new ServiceError('payload_too_large', `${path} is larger than ${limitBytes / 1024 / 1024} MB.`)

function firstSign(bytes: Buffer): number {
  let at = 0
  while (at < bytes.length && isSpace(bytes[at])) at++
  return at
}

function lastSign(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at >= 0 && isSpace(bytes[at])) at--
  return at
}

export const isBlank = (bytes: Buffer) => firstSign(bytes) === bytes.length

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09
