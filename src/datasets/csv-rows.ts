// Reads the rows of a CSV file with a header line. Quoted fields may contain line ends.
import { parse as parseCsv, type Parser } from 'csv-parse'
import { pipeline } from 'node:stream/promises'
import { headerProblem, rowOf, separatorOf } from './csv-header.ts'
import { notUtf8 } from './file-text.ts'
import type { RawRow } from './raw-row.ts'

const batchRows = 256
/** Large cells lie outside of the heap, so its limit does not bound a batch of them. */
const batchBytes = 1024 * 1024
const maxReasonCharacters = 200
/** The separator is found in this much of the file, always the same, so that every reading finds the same one. */
const beginningCharacters = 64 * 1024

type Parsed = { record: string[]; info: { lines: number; bytes: number } } | BrokenRow
type BrokenRow = { line: number; problem: string }

export async function* csvRows(
  bytes: AsyncIterable<Buffer>,
  { rowLimitCharacters, tellSeparator }: { rowLimitCharacters: number; tellSeparator: (sign: string) => void },
): AsyncGenerator<RawRow[]> {
  let broken: { problem: string } | { error: unknown } | undefined
  async function* decoded() {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true })
      yield decoder.decode()
    } catch (error) {
      broken = error instanceof TypeError ? { problem: notUtf8 } : { error }
    }
  }
  const texts = decoded()
  const start = await beginning(texts)
  const separator = separatorOf(start)
  tellSeparator(separator)
  const parser = createParser(separator, rowLimitCharacters)
  const feeding = pipeline(prepend(start, texts), parser).catch(() => undefined)
  const rowIn = createRowMaker(separator)
  let batch: RawRow[] = []
  try {
    let yieldedBytes = 0
    for await (const parsed of parser as AsyncIterable<Parsed>) {
      const row = rowIn(parsed)
      if (!row) continue
      batch.push(row)
      if ('problem' in row && row.endsReading) break
      const readBytes = 'info' in parsed ? parsed.info.bytes : yieldedBytes
      if (batch.length < batchRows && readBytes - yieldedBytes < batchBytes) continue
      yieldedBytes = readBytes
      yield batch
      batch = []
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    // The message quotes the cell, which may be long.
    const problem = `is not valid CSV: ${reason.slice(0, maxReasonCharacters).toWellFormed()}`
    batch.push({ line: parser.info.lines, problem, endsReading: true })
  }
  await feeding
  if (broken && 'problem' in broken) batch.push({ line: parser.info.lines, problem: broken.problem, endsReading: true })
  yield batch
  if (broken && 'error' in broken) throw broken.error
}

/** The first record names the columns. Gives null for a record that is no row. */
function createRowMaker(separator: string): (parsed: Parsed) => RawRow | null {
  let names: string[] | undefined
  return (parsed) => {
    // Without a header no row can be read.
    if ('problem' in parsed) return names ? parsed : { ...parsed, endsReading: true }
    const { record, info } = parsed
    const line = info.lines
    if (names) return record.every((cell) => cell === '') ? null : { line, ...rowOf(names, record, separator) }
    names = record
    const problem = headerProblem(names)
    // Each row would be bad for the same reason.
    return problem === null ? null : { line, problem, endsReading: true }
  }
}

const strayQuote =
  'has a quote within a cell that does not begin with one: put quotes around the cell, and write two for each quote in it'

/** Goes on after a row with a stray quote, which ends with its line. After any other error nobody knows where the next row begins. */
function createParser(separator: string, rowLimitCharacters: number): Parser {
  let brokenLine = 0
  const parser = parseCsv({
    delimiter: separator,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: rowLimitCharacters,
    skip_records_with_error: true,
    on_skip(error) {
      if (error?.code !== 'INVALID_OPENING_QUOTE') throw error ?? new Error('unknown error')
      const { lines: line } = parser.info
      if (line === brokenLine) return
      brokenLine = line
      // Between the rows that the parser yields, so that rows stay in their order.
      parser.push({ line, problem: strayQuote } satisfies BrokenRow)
    },
  })
  return parser
}

async function beginning(texts: AsyncIterator<string>): Promise<string> {
  let start = ''
  while (start.length < beginningCharacters) {
    const next = await texts.next()
    if (next.done) break
    start += next.value
  }
  return start
}

async function* prepend(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}
