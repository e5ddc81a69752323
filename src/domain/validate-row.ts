// Validates elements of a JSON array: each must be an object that our stores can hold.
import { isUtf8 } from 'node:buffer'
import { excessOfLong, tooDeep, tooManyValues } from './json-bounds.ts'
import { invalidInput, ServiceError } from './service-error.ts'

export const maxRowDepth = 32

/** @returns the path of an element, by its number in one call, such as data[3] */
type PathOf = (index: number) => string

/**
 * Parses all elements at once. Only when something is, or might be, wrong are they parsed one by one, to name the bad one.
 * @param span the text of whole elements with the commas between them
 * @param ends the offsets of those commas and of the end of `span`
 * @throws ServiceError invalid_input
 */
export function validateSpan(
  span: Buffer,
  ends: readonly number[],
  { isDeep, pathOf }: { isDeep: boolean; pathOf: PathOf },
) {
  if (!isDeep && areRows(span, ends.length)) return
  let from = 0
  for (const [index, end] of ends.entries()) {
    validateRow(span.subarray(from, end), pathOf(index))
    from = end + 1
  }
}

const areRows = (span: Buffer, count: number) => parseSpan(span)?.length === count

/** @returns the objects, or null when one of them is invalid or might be */
export function parseSpan(span: Buffer): object[] | null {
  if (!isUtf8(span)) return null
  const text = `[${span.toString('utf8')}]`
  // NUL and lone surrogates, which our stores cannot hold, can only come from an escape.
  if (text.includes('\\u') && /\\u(0000|d[89a-f])/i.test(text)) return null
  if (excessOfLong(text) !== null) return null
  try {
    const rows = JSON.parse(text) as unknown[]
    return rows.every(isObject) ? rows : null
  } catch {
    return null
  }
}

/** @throws ServiceError invalid_input */
export function validateRow(bytes: Buffer, path: string) {
  if (!isUtf8(bytes)) throw invalidInput(path, `${path} is not valid UTF-8. Send JSON encoded as UTF-8.`)
  const text = bytes.toString('utf8')
  const excess = excessOfLong(text)
  if (excess === tooManyValues) throw invalidInput(path, `${path} ${excess}.`)
  if (excess === tooDeep) throw notShallow(path)
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read'
    throw invalidInput(path, `${path} is not valid JSON: ${reason}.`)
  }
  if (!isObject(row) || isDeeper(row)) throw notShallow(path)
  if (text.includes('\\u')) refuseBadText(row, path)
}

const notShallow = (path: string) =>
  invalidInput(path, `${path} must be an object, nested at most ${maxRowDepth} levels deep.`)

function refuseBadText(row: object, path: string) {
  // JSON.stringify escapes NUL and lone surrogates. Escaped backslashes are removed first, because they may precede such letters.
  const escapes = JSON.stringify(row).replaceAll('\\\\', '')
  if (escapes.includes('\\u0000')) throw invalidInput(path, `${path} must not contain NUL characters.`)
  if (/\\ud[89a-f]/.test(escapes)) throw invalidInput(path, `${path} must be valid Unicode, without lone surrogates.`)
}

const isObject = (row: unknown): row is object => typeof row === 'object' && row !== null && !Array.isArray(row)

/** Does not recurse, because the client chooses the depth. */
function isDeeper(row: object): boolean {
  let level: object[] = [row]
  for (let depth = 0; depth < maxRowDepth && level.length > 0; depth++)
    level = level.flatMap((each) => Object.values(each).filter((inner) => typeof inner === 'object' && inner !== null))
  return level.length > 0
}

export const rowTooLarge = (path: string, limitBytes: number) =>
  new ServiceError('payload_too_large', `${path} is larger than ${limitBytes / 1024 / 1024} MB.`)

export const isBlank = (bytes: Buffer) =>
  bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)
