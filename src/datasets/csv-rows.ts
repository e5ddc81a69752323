// Reads the rows of a CSV file with a header line. Quoted fields may contain line ends.
import { parse as parseCsv } from 'csv-parse'
import { pipeline } from 'node:stream/promises'
import { headerProblem, rowOf, separatorOf } from './csv-header.ts'
import { notUtf8 } from './file-text.ts'
import type { RawRow } from './raw-row.ts'

const batchRows = 256
/** Large cells lie outside of the heap, so its limit does not bound a batch of them. */
const batchBytes = 1024 * 1024
const maxReasonCharacters = 200
/** A header that is longer has commas in its beginning. */
const headerCharacters = 64 * 1024

type Parsed = { record: string[]; info: { lines: number; bytes: number } }

export async function* csvRows(bytes: AsyncIterable<Buffer>, rowLimitCharacters: number): AsyncGenerator<RawRow[]> {
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
  const separator = separatorOf(/^[^\r\n]*/.exec(start.trimStart())?.[0] ?? '')
  const parser = parseCsv({
    delimiter: separator,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: rowLimitCharacters,
  })
  const feeding = pipeline(prepend(start, texts), parser).catch(() => undefined)
  let names: string[] | undefined
  let batch: RawRow[] = []
  try {
    let yieldedBytes = 0
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      const { lines: line, bytes: readBytes } = info
      if (!names) {
        names = record
        const problem = headerProblem(names)
        if (problem === null) continue
        // Each row would be bad for the same reason.
        batch.push({ line, problem })
        break
      }
      if (record.every((cell) => cell === '')) continue
      batch.push({ line, ...rowOf(names, record, separator) })
      if (batch.length < batchRows && readBytes - yieldedBytes < batchBytes) continue
      yieldedBytes = readBytes
      yield batch
      batch = []
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    // The message quotes the cell, which may be long.
    const problem = `is not valid CSV: ${reason.slice(0, maxReasonCharacters).toWellFormed()}`
    batch.push({ line: parser.info.lines, problem })
  }
  await feeding
  if (broken && 'problem' in broken) batch.push({ line: parser.info.lines, problem: broken.problem })
  yield batch
  if (broken && 'error' in broken) throw broken.error
}

/** Reads on until the first line is complete. */
async function beginning(texts: AsyncIterator<string>): Promise<string> {
  let start = ''
  while (start.length < headerCharacters && !/[\r\n]/.test(start.trimStart())) {
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
