// Streams the rows of an uploaded file: JSON Lines, a JSON array or CSV, any of them gzipped or in UTF-16, with or without a BOM.
import { isUtf8 } from 'node:buffer'
import { csvRows } from './csv-rows.ts'
import { defaultDatasetLimits } from './dataset-limits.ts'
import { createElementReader, type ElementBytes } from './json-rows.ts'
import { FileTextError, notUtf8, textOfFile } from './file-text.ts'
import { parseRow } from './row-json.ts'
import type { RawRow } from './raw-row.ts'

/** Longer rows are refused, because a row has to fit into memory. */
const rowLimitBytes = 16 * 1024 * 1024
const rowTooLong = `is longer than ${rowLimitBytes / 1024 / 1024} MB`
const newline = 0x0a
const byteOrderMark = Buffer.from('\uFEFF')

/** Yields batches of rows, in constant memory. Rejects only when the stream fails; an unreadable row is yielded as a problem. */
export async function* readDataset(
  file: AsyncIterable<Buffer>,
  unpackedLimitBytes: number = defaultDatasetLimits.unpackedBytes,
  /** Gets the sign between the cells of a file that has cells. */
  tellSeparator: (sign: string) => void = () => undefined,
): AsyncGenerator<RawRow[]> {
  const bytes = textOfFile(file, unpackedLimitBytes)[Symbol.asyncIterator]()
  let line = 1
  try {
    const start = await readStart(bytes)
    const whole = prepend(start, bytes)
    const sign = String.fromCharCode(start.find(isVisible) ?? 0)
    const ofCells = { rowLimitCharacters: rowLimitBytes, tellSeparator }
    const rows = sign === '[' ? arrayRows(whole) : sign === '{' ? lineRows(whole) : csvRows(whole, ofCells)
    if (sign === '\0') return
    for await (const batch of rows) {
      line = batch.at(-1)?.line ?? line
      yield batch
    }
  } catch (error) {
    if (!(error instanceof FileTextError)) throw error
    yield [{ line, problem: error.message, endsReading: true }]
  }
}

/** Reads up to the first byte that is not white space. @returns the bytes without a byte order mark */
async function readStart(bytes: AsyncIterator<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    chunks.push(next.value)
    sizeBytes += next.value.length
    if (sizeBytes > rowLimitBytes)
      throw new FileTextError(`begins with more than ${rowLimitBytes / 1024 / 1024} MB of white space`)
    // A byte order mark does not count, and may arrive in pieces.
    if (
      next.value.some(isVisible) &&
      withoutMark(Buffer.concat(chunks)).some(isVisible) &&
      sizeBytes >= byteOrderMark.length
    )
      break
  }
  return withoutMark(Buffer.concat(chunks))
}

const withoutMark = (start: Buffer) =>
  start.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? start.subarray(byteOrderMark.length) : start

const isVisible = (byte: number) => byte > 0x20

async function* lineRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<RawRow[]> {
  let line = 1
  let waiting: Buffer[] = []
  let waitingBytes = 0
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(newline)
    if (end !== -1) {
      const rows: RawRow[] = []
      line = readLines(Buffer.concat([...waiting, chunk.subarray(0, end)]), line, rows)
      waiting = []
      waitingBytes = 0
      yield rows
    }
    waiting.push(Buffer.from(chunk.subarray(end + 1)))
    waitingBytes += chunk.length - end - 1
    if (waitingBytes > rowLimitBytes) {
      yield [{ line, problem: rowTooLong, endsReading: true }]
      return
    }
  }
  const rows: RawRow[] = []
  readLines(Buffer.concat(waiting), line, rows)
  yield rows
}

/** Skips blank lines. @returns the number of the next line */
function readLines(block: Buffer, firstLine: number, rows: RawRow[]): number {
  let line = firstLine
  // A whole block is decoded at once; a block that is not UTF-8 is read line by line to find the bad lines.
  if (!isUtf8(block))
    for (let from = 0; from <= block.length; line++) {
      const end = block.indexOf(newline, from)
      const to = end === -1 ? block.length : end
      readText(block.subarray(from, to), line, rows)
      from = to + 1
    }
  else
    for (const text of block.toString('utf8').split('\n')) {
      if (text !== '' && text.trim() !== '') rows.push({ line, ...parseRow(text) })
      line++
    }
  return line
}

function readText(bytes: Buffer, line: number, rows: RawRow[]) {
  const text = bytes.toString('utf8')
  if (!isUtf8(bytes)) rows.push({ line, problem: notUtf8 })
  else if (text.trim() !== '') rows.push({ line, ...parseRow(text) })
}

/** Yields a row per element of the outermost array. */
async function* arrayRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<RawRow[]> {
  let reader: ReturnType<typeof createElementReader> | null = null
  let isClosed = false
  for await (const chunk of bytes) {
    if (isClosed) {
      if (chunk.some((byte) => byte > 0x20))
        yield [{ line: reader?.line() ?? 1, problem: 'is text after the end of the JSON array', endsReading: true }]
      return
    }
    const from = reader ? 0 : chunk.indexOf('[') + 1
    reader ??= createElementReader(1 + chunk.subarray(0, from).toString('latin1').split('\n').length - 1)
    const found: ElementBytes[] = []
    const end = reader.push(chunk, from, found)
    isClosed = end !== -1
    const rows: RawRow[] = []
    for (const { line, bytes: element } of found) readText(element, line, rows)
    if (reader.waitingBytes() > rowLimitBytes) rows.push({ line: reader.line(), problem: rowTooLong, endsReading: true })
    yield rows
    if (reader.waitingBytes() > rowLimitBytes) return
  }
  const cutOff = 'the JSON array is not closed: the file looks cut off'
  if (!isClosed) yield [{ line: reader?.line() ?? 1, problem: cutOff, endsReading: true }]
}

async function* prepend(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
