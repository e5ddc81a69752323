// Elements of a JSON array that must be objects which our stores can hold.
import { isUtf8 } from 'node:buffer'
import { invalidInput, ServiceError } from '../domain/service-error.ts'

export const deepestRow = 32

/** Names the element with this number, among those of one call. */
export type PathOf = (index: number) => string

/**
 * `run` is the text of whole elements with the commas between them, `ends` are the offsets of those commas and of its end.
 * One parse for all; only where something is wrong, or might be, they are looked at one by one.
 * @throws ServiceError invalid_input
 */
export function checkRun(
  run: Buffer,
  ends: readonly number[],
  { isDeep, pathOf }: { isDeep: boolean; pathOf: PathOf },
) {
  if (!isDeep && areRows(run, ends.length)) return
  let from = 0
  for (const [index, end] of ends.entries()) {
    checkRow(run.subarray(from, end), pathOf(index))
    from = end + 1
  }
}

const areRows = (run: Buffer, count: number) => parseRun(run)?.length === count

/** @returns objects that our stores can hold, or null when that is not certain of one of them */
export function parseRun(run: Buffer): object[] | null {
  if (!isUtf8(run)) return null
  const text = `[${run.toString('utf8')}]`
  // Only an escape can bring in what our stores cannot hold.
  if (text.includes('\\u') && /\\u(0000|d[89a-f])/i.test(text)) return null
  try {
    const rows = JSON.parse(text) as unknown[]
    return rows.every(isObject) ? rows : null
  } catch {
    return null
  }
}

function checkRow(bytes: Buffer, path: string) {
  if (!isUtf8(bytes)) throw invalidInput(path, 'The body must be JSON in UTF-8; it holds bytes that are not.')
  const text = bytes.toString('utf8')
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read'
    throw invalidInput(path, `${path} is not valid JSON: ${reason}.`)
  }
  if (!isObject(row) || isDeeper(row))
    throw invalidInput(path, `${path} must be an object, nested at most ${deepestRow} deep.`)
  if (text.includes('\\u')) refuseBadText(row, path)
}

function refuseBadText(row: object, path: string) {
  // Written out, NUL and lone surrogates stay escaped; an escaped backslash before such a word is text.
  const escapes = JSON.stringify(row).replaceAll('\\\\', '')
  if (escapes.includes('\\u0000')) throw invalidInput(path, `${path} must not contain NUL characters.`)
  if (/\\ud[89a-f]/.test(escapes)) throw invalidInput(path, `${path} must be valid Unicode, without lone surrogates.`)
}

const isObject = (row: unknown): row is object => typeof row === 'object' && row !== null && !Array.isArray(row)

/** Does not recurse: the depth is the client's. */
function isDeeper(row: object): boolean {
  let level: object[] = [row]
  for (let depth = 0; depth < deepestRow && level.length > 0; depth++)
    level = level.flatMap((each) => Object.values(each).filter((inner) => typeof inner === 'object' && inner !== null))
  return level.length > 0
}

export const rowTooLarge = (path: string, limitBytes: number) =>
  new ServiceError('payload_too_large', `${path} is larger than ${limitBytes / 1024 / 1024} MB.`)

export const isBlank = (bytes: Buffer) => bytes.every((byte) => [0x20, 0x0a, 0x0d, 0x09].includes(byte))
