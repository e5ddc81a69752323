// A request body that carries rows: `{"data": [...], ...}`, taken apart while it arrives. Rows leave as JSON Lines, the rest stays.
import { invalidInput } from '../domain/service-error.ts'
import { createBodyRest } from './json-envelope.ts'
import { takeFlatRows } from './fast-row-splitter.ts'
import { createArrayScanner, type ElementEnds } from './json-rows.ts'
import { checkRun, deepestRow, isBlank, rowTooLarge } from './validate-row.ts'

const newline = 0x0a
const endBracket = 0x5d

const rowLimitBytes = 16 * 1024 * 1024
/** Pieces in a row that the quick way was of no use for. */
const mostUnfit = 3

/** Whole lines of the rows in one field. */
export type Lines = { field: string; bytes: Buffer }

/** Takes a body apart whose `fields` are arrays of rows. Every method throws ServiceError invalid_input or payload_too_large. */
export function createRowBody({ fields, restLimitBytes }: { fields: readonly string[]; restLimitBytes: number }) {
  const rest = createBodyRest(fields, restLimitBytes)
  const seen = new Map<string, RowArray>()
  let open: RowArray | null = null

  return {
    rowCount: (field: string) => seen.get(field)?.rowCount() ?? 0,
    hasRows: (field: string) => seen.has(field),

    /** @returns the rows completed by this piece of the body, made of its bytes, which it writes over */
    push(chunk: Buffer): Lines[] {
      const found: Lines[] = []
      for (let at = 0; at < chunk.length;) {
        if (!open) {
          const opened = rest.push(chunk, at)
          if (!opened) break
          at = opened.offset
          if (seen.has(opened.field)) throw invalidInput(opened.field, `${opened.field} is given twice.`)
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

    /** @returns the body without its rows: each field is null, or an empty array when it was one */
    end(): Buffer {
      if (open) throw invalidInput('', `The body is not valid JSON: it ends within ${open.field}.`)
      return rest.end((field) => (seen.get(field)?.rowCount() === 0 ? '[]' : 'null'))
    },
  }
}

type RowArray = ReturnType<typeof createRowArray>

/** The array in one field. Its rows leave as the bytes that came, a row a line. */
function createRowArray(field: string) {
  const scanner = createArrayScanner()
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let rowCount = 0
  let unfit = 0

  function add(run: Buffer, ends: number[], isClosed: boolean): boolean {
    // White space between the brackets is no element; between commas it is a mistake.
    if (isClosed && rowCount + ends.length === 1 && isBlank(run)) return false
    const first = rowCount
    // The array itself is one level, the row another.
    checkRun(run, ends, { isDeep: scanner.deepest() > deepestRow + 1, pathOf: (index) => `${field}[${first + index}]` })
    rowCount += ends.length
    return true
  }

  /** The element that earlier pieces began. */
  function finishWaiting(chunk: Buffer, from: number, to: number, isClosed: boolean, found: Lines[]) {
    const bytes = Buffer.concat([...waiting, chunk.subarray(from, to + 1)])
    waiting = []
    waitingBytes = 0
    const end = bytes.length - 1
    if (!add(bytes.subarray(0, end), [end], isClosed)) return
    bytes[end] = newline
    found.push({ field, bytes })
  }

  function takeRun(chunk: Buffer, from: number, ends: number[], isClosed: boolean, found: Lines[]) {
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

  /** @returns the offset behind them */
  function takeFlat(chunk: Buffer, from: number, found: Lines[]): number {
    const flat = unfit < mostUnfit ? takeFlatRows(chunk, from) : null
    if (!flat) {
      unfit++
      return from
    }
    unfit = 0
    rowCount += flat.count
    found.push({ field, bytes: chunk.subarray(from, flat.end) })
    return flat.end
  }

  /** Takes `most` elements, the first of which earlier pieces may have begun. @returns the offset behind the last */
  function scan(chunk: Buffer, start: number, most: number, found: Lines[]): { at: number; isClosed: boolean } {
    const ends: ElementEnds = { offsets: [], lines: [] }
    const end = scanner.push(chunk, start, ends, most)
    const isClosed = end !== -1
    if (isClosed && chunk[end - 1] !== endBracket)
      throw invalidInput(field, `${field} is not valid JSON: it ends with "}".`)
    const [first] = ends.offsets
    const last = ends.offsets.at(-1)
    if (first === undefined || last === undefined) return { at: start, isClosed }
    if (waitingBytes === 0) takeRun(chunk, start, ends.offsets, isClosed, found)
    else {
      finishWaiting(chunk, start, first, isClosed && first === last, found)
      if (first !== last) takeRun(chunk, first + 1, ends.offsets.slice(1), isClosed, found)
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
      // Only from between two elements on.
      if (waitingBytes === 0) {
        from = takeFlat(chunk, from, found)
        const { at, isClosed } = scan(chunk, from, Number.POSITIVE_INFINITY, found)
        if (isClosed) return at
        from = at
      }
      // A copy: the chunk's memory would be held for a few bytes of it.
      if (from < chunk.length) waiting.push(Buffer.from(chunk.subarray(from)))
      waitingBytes += chunk.length - from
      if (waitingBytes > rowLimitBytes) throw rowTooLarge(`${field}[${rowCount}]`, rowLimitBytes)
      return -1
    },
  }
}
