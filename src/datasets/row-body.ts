// A request body that carries rows: `{"data": [...], ...}`, taken apart while it arrives. Rows leave as JSON Lines, the rest stays.
import { invalidInput } from '../domain/service-error.ts'
import { createBodyRest } from './body-rest.ts'
import { createArrayScanner, type ElementEnds } from './json-rows.ts'
import { checkRun, deepestRow, isBlank, rowTooLarge } from './row-check.ts'

const newline = 0x0a
const endBracket = 0x5d

const rowLimitBytes = 16 * 1024 * 1024

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
  function finishWaiting(chunk: Buffer, to: number, isClosed: boolean, found: Lines[]) {
    const bytes = Buffer.concat([...waiting, chunk.subarray(0, to + 1)])
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

  return {
    field,
    rowCount: () => rowCount,

    /** @returns the offset behind the closing bracket, or -1 when it is not in this chunk */
    push(chunk: Buffer, start: number, found: Lines[]): number {
      const ends: ElementEnds = { offsets: [], lines: [] }
      const end = scanner.push(chunk, start, ends)
      const isClosed = end !== -1
      if (isClosed && chunk[end - 1] !== endBracket)
        throw invalidInput(field, `${field} is not valid JSON: it ends with "}".`)
      let from = start
      const [first] = ends.offsets
      if (waitingBytes > 0 && first !== undefined) {
        ends.offsets.shift()
        finishWaiting(chunk, first, isClosed && ends.offsets.length === 0, found)
        from = first + 1
      }
      if (ends.offsets.length > 0) {
        takeRun(chunk, from, ends.offsets, isClosed, found)
        from = (ends.offsets.at(-1) ?? from) + 1
      }
      if (isClosed) return end
      // A copy: the chunk's memory would be held for a few bytes of it.
      if (from < chunk.length) waiting.push(Buffer.from(chunk.subarray(from)))
      waitingBytes += chunk.length - from
      if (waitingBytes > rowLimitBytes) throw rowTooLarge(`${field}[${rowCount}]`, rowLimitBytes)
      return -1
    },
  }
}
