// A request body that carries rows: `{"data": [...], ...}`, taken apart while it arrives. Rows leave as JSON Lines, the rest stays.
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { createArrayScanner, type ArrayScanner, type ElementBytes } from './json-rows.ts'
import { createLineWriter, isBlank, rowTooLarge, type LineWriter } from './line-writer.ts'

const quote = 0x22
const backslash = 0x5c
const [comma, colon, bracket, brace, endBracket, endBrace] = Buffer.from(',:[{]}') as unknown as number[]

const rowLimitBytes = 16 * 1024 * 1024

/** Every method throws ServiceError invalid_input or payload_too_large. */
export function createRowBody({ field, restLimitBytes }: { field: string; restLimitBytes: number }) {
  const rest = createRest(field, restLimitBytes)
  const lines = createLineWriter(rowLimitBytes)
  let scanner: ArrayScanner | null = null
  let hasRows = false
  let elementCount = 0
  let isEmptyArray = false

  /** White space between the brackets is no element; between commas it is a mistake. */
  function write(elements: ElementBytes[], isClosed: boolean, lines: LineWriter) {
    const [last] = elements.slice(-1)
    if (isClosed && last && elementCount + elements.length === 1 && isBlank(last.bytes)) {
      isEmptyArray = true
      return
    }
    const path = (index: number) => `${field}[${elementCount + index}]`
    lines.add(elements, path)
    elementCount += elements.length
  }

  return {
    rowCount: () => elementCount,
    hasRows: () => hasRows,

    /** @returns the rows completed by this piece of the body, as JSON Lines; they hold until the next call */
    push(chunk: Buffer): Buffer {
      lines.begin()
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
        write(found, end !== -1, lines)
        if (end === -1) {
          if (scanner.waitingBytes() > rowLimitBytes) throw rowTooLarge(`${field}[${elementCount}]`, rowLimitBytes)
          break
        }
        if (chunk[end - 1] !== endBracket) throw invalidInput(field, `${field} is not valid JSON: it ends with "}".`)
        scanner = null
        at = end
      }
      return lines.written()
    },

    /** @returns the body without its rows: the field is null, or an empty array when it was one */
    end(): Buffer {
      if (scanner) throw invalidInput('', `The body is not valid JSON: it ends within ${field}.`)
      return rest.end(isEmptyArray ? '[]' : 'null')
    },
  }
}

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
