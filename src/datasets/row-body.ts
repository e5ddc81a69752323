// A request body that carries rows: `{"data": [...], ...}`, taken apart while it arrives. Rows leave as JSON Lines, the rest stays.
import { isUtf8 } from 'node:buffer'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { createArrayScanner, type ArrayScanner, type ElementBytes } from './json-rows.ts'

const quote = 0x22
const backslash = 0x5c
const [comma, colon, bracket, brace, endBracket, endBrace] = Buffer.from(',:[{]}') as unknown as number[]

const rowLimitBytes = 16 * 1024 * 1024
const deepestRow = 32

/** Every method throws ServiceError invalid_input or payload_too_large. */
export function createRowBody({ field, restLimitBytes }: { field: string; restLimitBytes: number }) {
  const rest = createRest(field, restLimitBytes)
  let scanner: ArrayScanner | null = null
  let hasRows = false
  let elementCount = 0
  let isEmptyArray = false

  /** White space between the brackets is no element; between commas it is a mistake. */
  function lines(elements: ElementBytes[], isClosed: boolean): string {
    let text = ''
    for (const [index, { bytes }] of elements.entries()) {
      const isOnlyOne = isClosed && index === elements.length - 1 && elementCount === 0
      if (isOnlyOne && bytes.toString('latin1').trim() === '') isEmptyArray = true
      else text += rowLine(bytes, `${field}[${elementCount++}]`)
    }
    return text
  }

  return {
    rowCount: () => elementCount,
    hasRows: () => hasRows,

    /** @returns the rows completed by this piece of the body, as JSON Lines */
    push(chunk: Buffer): string {
      let text = ''
      for (let at = 0; at < chunk.length;) {
        if (!scanner) {
          at = rest.push(chunk, at)
          if (at === -1) break
          if (hasRows) throw invalidInput(field, `${field} is given twice.`)
          hasRows = true
          scanner = createArrayScanner()
        }
        const found: ElementBytes[] = []
        const end = scanner.push(chunk, at, found)
        text += lines(found, end !== -1)
        if (end === -1) {
          if (scanner.waitingBytes() > rowLimitBytes) throw rowTooLarge(`${field}[${elementCount}]`)
          break
        }
        if (chunk[end - 1] !== endBracket) throw invalidInput(field, `${field} is not valid JSON: it ends with "}".`)
        scanner = null
        at = end
      }
      return text
    },

    /** @returns the body without its rows: the field is null, or an empty array when it was one */
    end(): Buffer {
      if (scanner) throw invalidInput('', `The body is not valid JSON: it ends within ${field}.`)
      return rest.end(isEmptyArray ? '[]' : 'null')
    },
  }
}

/** One row as one line, checked to be an object that our stores can hold. */
function rowLine(bytes: Buffer, path: string): string {
  if (bytes.length > rowLimitBytes) throw rowTooLarge(path)
  if (!isUtf8(bytes)) throw invalidInput(path, 'The body must be JSON in UTF-8; it holds bytes that are not.')
  const text = bytes.toString('utf8').trim()
  let row: unknown
  try {
    row = JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      path,
      `${path} is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`,
    )
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row) || isTooDeep(row))
    throw invalidInput(path, `${path} must be an object, nested at most ${deepestRow} deep.`)
  // Only an escape can bring such text in.
  if (text.includes('\\u')) refuseBadText(text, row, path)
  return text.includes('\n') || text.includes('\r') ? `${JSON.stringify(row)}\n` : `${text}\n`
}

function refuseBadText(text: string, row: object, path: string) {
  const plain = JSON.stringify(row)
  if (/\\u0000/.test(plain.replaceAll('\\\\', ''))) throw invalidInput(path, `${path} must not contain NUL characters.`)
  // What is no Unicode stays escaped when it is written out.
  if (/\\ud[89a-f]/i.test(text) && /\\ud[89a-f]/.test(plain.replaceAll('\\\\', '')))
    throw invalidInput(path, `${path} must be valid Unicode, without lone surrogates.`)
}

/** Does not recurse: the depth is the client's. */
function isTooDeep(row: object): boolean {
  let level: object[] = [row]
  for (let depth = 0; depth < deepestRow; depth++) {
    const next: object[] = []
    for (const each of level)
      for (const inner of Object.values(each) as unknown[])
        if (typeof inner === 'object' && inner !== null) next.push(inner)
    if (next.length === 0) return false
    level = next
  }
  return true
}

const rowTooLarge = (path: string) =>
  new ServiceError('payload_too_large', `${path} is larger than ${rowLimitBytes / 1024 / 1024} MB.`)

/** Everything but the rows. Knows just enough of JSON to find a key of the outermost object. */
function createRest(field: string, limitBytes: number) {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  let rowsAt = -1
  let depth = 0
  let inString = false
  let escaped = false
  let isKey = false
  let key: number[] = []
  let awaitsValue = false

  function take(bytes: Buffer) {
    sizeBytes += bytes.length
    if (sizeBytes > limitBytes)
      throw new ServiceError('payload_too_large', `Beside ${field}, the body may have ${limitBytes / 1024 / 1024} MB.`)
    // A copy: the chunk's memory would be held for a few bytes of it.
    if (bytes.length > 0) pieces.push(Buffer.from(bytes))
  }

  function outside(byte: number | undefined): boolean {
    if (byte === quote) {
      inString = true
      if (isKey) key = []
      awaitsValue = false
    } else if (byte === brace || byte === bracket) {
      if (byte === bracket && awaitsValue && isField(key, field)) return true
      depth++
      isKey = depth === 1 && byte === brace
      awaitsValue = false
    } else if (byte === endBrace || byte === endBracket) depth--
    else if (byte === comma) isKey = depth === 1
    else if (byte === colon) awaitsValue = depth === 1
    else if (byte !== undefined && byte > 0x20) awaitsValue = false
    return false
  }

  return {
    /** @returns the offset behind the bracket that opens the rows, or -1 when it is not in this chunk */
    push(chunk: Buffer, start: number): number {
      for (let at = start; at < chunk.length; at++) {
        const byte = chunk[at]
        if (inString) {
          if (escaped) escaped = false
          else if (byte === backslash) escaped = true
          else if (byte === quote) inString = false
          if (isKey && inString && byte !== undefined && key.length < 256) key.push(byte)
          if (!inString) isKey = false
        } else if (outside(byte)) {
          awaitsValue = false
          take(chunk.subarray(start, at))
          rowsAt = pieces.length
          return at + 1
        }
      }
      take(chunk.subarray(start))
      return -1
    },
    end: (rows: string) =>
      Buffer.concat(rowsAt === -1 ? pieces : [...pieces.slice(0, rowsAt), Buffer.from(rows), ...pieces.slice(rowsAt)]),
  }
}

/** Keys may be written with escapes. */
function isField(key: number[], field: string): boolean {
  try {
    return JSON.parse(`"${Buffer.from(key).toString('utf8')}"`) === field
  } catch {
    return false
  }
}
