// Reads the rows of a CSV file with a header line. Quoted fields may contain line ends.
import { parse as parseCsv } from 'csv-parse'
import { pipeline } from 'node:stream/promises'
import type { RawRow } from './read-dataset.ts'

const batchRows = 256
/** Large cells lie outside of the heap, so its limit does not bound a batch of them. */
const batchBytes = 1024 * 1024

type Parsed = { record: unknown; info: { lines: number; bytes: number } }

export async function* csvRows(bytes: AsyncIterable<Buffer>, rowLimitCharacters: number): AsyncGenerator<RawRow[]> {
  const parser = parseCsv({
    columns: true,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: rowLimitCharacters,
  })
  let broken: { problem: string } | { error: unknown } | undefined
  async function* texts() {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    try {
      for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true })
      yield decoder.decode()
    } catch (error) {
      broken = error instanceof TypeError ? { problem: 'is not UTF-8 text' } : { error }
    }
  }
  const feeding = pipeline(texts(), parser).catch(() => undefined)
  let batch: RawRow[] = []
  try {
    let yieldedBytes = 0
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      batch.push({ line: info.lines, value: record })
      if (batch.length < batchRows && info.bytes - yieldedBytes < batchBytes) continue
      yieldedBytes = info.bytes
      yield batch
      batch = []
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    batch.push({ line: parser.info.lines, problem: `is not valid CSV: ${reason}` })
  }
  await feeding
  if (broken && 'problem' in broken) batch.push({ line: parser.info.lines, problem: broken.problem })
  yield batch
  if (broken && 'error' in broken) throw broken.error
}
