// Splits a request body with rows, `{"data": [...], ...}`, while it arrives: into rows as JSON Lines, and the rest as JSON.
import { invalidInput } from '../domain/service-error.ts'
import { createJsonEnvelope } from './json-envelope.ts'
import { takeFlatRows } from './fast-row-splitter.ts'
import { createArrayScanner, type ElementEnds } from './json-rows.ts'
import { validateSpan, maxRowDepth, isBlank, rowTooLarge } from '../domain/validate-row.ts'

const newline = 0x0a
const endBracket = 0x5d

const rowLimitBytes = 16 * 1024 * 1024
/** A row of this size is checked in some milliseconds. */
const largeRowBytes = 1024 * 1024
/** After this many chunks in succession that the fast splitter could not split, it is no longer tried. */
const maxUnfit = 3

/** Whole rows of one field, a row a line. `unchecked`: the path of a large row that nobody has looked at yet. */
export type Lines = { field: string; bytes: Buffer; unchecked?: string }

/** Splits a body whose `fields` are arrays of rows. Every method throws ServiceError invalid_input or payload_too_large. */
export function splitStreamingBody({ fields, restLimitBytes }: { fields: readonly string[]; restLimitBytes: number }) {
  const envelope = createJsonEnvelope(fields, restLimitBytes)
  const seen = new Map<string, RowArray>()
  let open: RowArray | null = null

  return {
    rowCount: (field: string) => seen.get(field)?.rowCount() ?? 0,
    hasRows: (field: string) => seen.has(field),

    /** Overwrites `chunk`. @returns the rows that this chunk completes, as parts of it */
    push(chunk: Buffer): Lines[] {
      const found: Lines[] = []
      for (let at = 0; at < chunk.length;) {
        if (!open) {
          const opened = envelope.push(chunk, at)
          if (!opened) break
          at = opened.offset
          if (seen.has(opened.field)) throw invalidInput(opened.field, `${opened.field} must be given only once.`)
          open = createRowArray(opened.field)
          seen.set(opened.field, open)
        }
        const end = open.push(chunk, at, found)
        if (end === -1) break
        open = null
        at = end
      }
      return found
    },

    /** @returns the body with null in place of each array of rows; an empty array stays */
    end(): Buffer {
      if (open) throw invalidInput('', `The body is not valid JSON: it ends within ${open.field}.`)
      return envelope.end((field) => (seen.get(field)?.rowCount() === 0 ? '[]' : 'null'))
    },
  }
}

type RowArray = ReturnType<typeof createRowArray>

/** Splits the array of one field. The bytes of a row stay as they came. */
function createRowArray(field: string) {
  const scanner = createArrayScanner()
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let rowCount = 0
  let unfit = 0

  function add(span: Buffer, ends: number[], isClosed: boolean): boolean {
    // Only white space between the brackets means an empty array; between commas it is an error.
    if (isClosed && rowCount + ends.length === 1 && isBlank(span)) return false
    const first = rowCount
    // The scanner also counts the array itself as a level.
    validateSpan(span, ends, {
      isDeep: scanner.deepest() > maxRowDepth + 1,
      pathOf: (index) => `${field}[${first + index}]`,
    })
    rowCount += ends.length
    return true
  }

  /** Completes the element that earlier chunks began. */
  function finishWaiting(chunk: Buffer, from: number, to: number, isClosed: boolean, found: Lines[]) {
    const bytes = Buffer.concat([...waiting, chunk.subarray(from, to + 1)])
    waiting = []
    waitingBytes = 0
    const end = bytes.length - 1
    const row = bytes.subarray(0, end)
    const isLarge = end > largeRowBytes && !isBlank(row)
    if (isLarge) rowCount++
    else if (!add(row, [end], isClosed)) return
    bytes[end] = newline
    found.push({ field, bytes, ...(isLarge && { unchecked: `${field}[${rowCount - 1}]` }) })
  }

  function takeSpan(chunk: Buffer, from: number, ends: number[], isClosed: boolean, found: Lines[]) {
    const to = ends.at(-1) ?? from
    const isRows = add(
      chunk.subarray(from, to),
      ends.map((end) => end - from),
      isClosed,
    )
    if (!isRows) return
    for (const end of ends) chunk[end] = newline
    found.push({ field, bytes: chunk.subarray(from, to + 1) })
  }

  /** Tries the fast splitter. @returns the offset behind the rows that it found */
  function takeFlat(chunk: Buffer, from: number, found: Lines[]): number {
    const flat = unfit < maxUnfit ? takeFlatRows(chunk, from) : null
    if (!flat) {
      unfit++
      return from
    }
    unfit = 0
    rowCount += flat.count
    found.push({ field, bytes: chunk.subarray(from, flat.end) })
    return flat.end
  }

  /** Takes up to `max` elements. Earlier chunks may have begun the first. @returns the offset behind the last */
  function scan(chunk: Buffer, start: number, max: number, found: Lines[]): { at: number; isClosed: boolean } {
    const ends: ElementEnds = { offsets: [], lines: [] }
    const end = scanner.push(chunk, start, ends, max)
    const isClosed = end !== -1
    if (isClosed && chunk[end - 1] !== endBracket)
      throw invalidInput(field, `${field} is not valid JSON: it ends with "}".`)
    const [first] = ends.offsets
    const last = ends.offsets.at(-1)
    if (first === undefined || last === undefined) return { at: start, isClosed }
    if (waitingBytes === 0) takeSpan(chunk, start, ends.offsets, isClosed, found)
    else {
      finishWaiting(chunk, start, first, isClosed && first === last, found)
      if (first !== last) takeSpan(chunk, first + 1, ends.offsets.slice(1), isClosed, found)
    }
    return { at: last + 1, isClosed }
  }

  return {
    field,
    rowCount: () => rowCount,

    /** @returns the offset behind the closing bracket, or -1 when it is not in this chunk */
    push(chunk: Buffer, start: number, found: Lines[]): number {
      let from = start
      if (waitingBytes > 0) {
        const { at, isClosed } = scan(chunk, from, 1, found)
        if (isClosed) return at
        from = at
      }
      // The fast splitter needs to start between two elements.
      if (waitingBytes === 0) {
        from = takeFlat(chunk, from, found)
        const { at, isClosed } = scan(chunk, from, Number.POSITIVE_INFINITY, found)
        if (isClosed) return at
        from = at
      }
      // Copy the rest, so that a few bytes do not hold the memory of the whole chunk.
      if (from < chunk.length) waiting.push(Buffer.from(chunk.subarray(from)))
      waitingBytes += chunk.length - from
      if (waitingBytes > rowLimitBytes) throw rowTooLarge(`${field}[${rowCount}]`, rowLimitBytes)
      return -1
    },
  }
}
