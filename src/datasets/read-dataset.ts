// Streams the rows of an uploaded file: JSON Lines, a JSON array or CSV, any of them gzipped, with or without a BOM.
import { parse as parseCsv } from 'csv-parse'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { PassThrough } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { splitJsonArray, splitLines, type TextPiece } from './split-text.ts'

/** `line` counts from 1. A row that could not be read has a `problem` instead of a value. */
export type RawRow = { line: number; value: unknown } | { line: number; problem: string }

/** A row beyond this is refused: it would have to fit into memory whole. */
const rowLimitCharacters = 16 * 1024 * 1024

/** Constant memory: a row at a time. Rejects when the stream itself fails; unreadable rows are yielded as problems. */
export async function* readDataset(file: Readable): AsyncGenerator<RawRow> {
  const bytes = file[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let start: Buffer = Buffer.alloc(0)
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    start = Buffer.concat([start, next.value])
    if (start.length >= 2) break
  }
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  const whole = prepend(start, bytes)
  yield* readText(decodeUtf8(isGzip ? gunzip(whole) : whole))
}

async function* readText(text: AsyncGenerator<TextPiece>): AsyncGenerator<RawRow> {
  let start = ''
  for (;;) {
    const piece = await text.next()
    if (piece.done) break
    if ('problem' in piece.value) {
      yield { line: 1, problem: piece.value.problem }
      return
    }
    start += piece.value.text
    if (start.trimStart() !== '') break
  }
  const whole = prepend<TextPiece>({ text: start }, text)
  const sign = start.trimStart()[0]
  if (sign === '[') yield* jsonRows(splitJsonArray(whole, rowLimitCharacters))
  else if (sign === '{') yield* jsonRows(splitLines(whole, rowLimitCharacters))
  else if (sign !== undefined) yield* csvRows(whole)
}

async function* jsonRows(
  pieces: AsyncGenerator<{ line: number; text: string } | { line: number; problem: string }>,
): AsyncGenerator<RawRow> {
  for await (const piece of pieces) {
    if ('problem' in piece) yield piece
    else if (piece.text.trim() !== '') yield parseJson(piece)
  }
}

function parseJson({ line, text }: { line: number; text: string }): RawRow {
  try {
    return { line, value: JSON.parse(text) as unknown }
  } catch {
    return { line, problem: 'is not valid JSON' }
  }
}

async function* csvRows(text: AsyncGenerator<TextPiece>): AsyncGenerator<RawRow> {
  const parser = parseCsv({
    columns: true,
    info: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: rowLimitCharacters,
  })
  let broken: string | undefined
  async function* strings() {
    for await (const piece of text) {
      if ('problem' in piece) {
        broken = piece.problem
        return
      }
      yield piece.text
    }
  }
  const feeding = pipeline(strings(), parser).catch(() => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: unknown; info: { lines: number } }>)
      yield { line: info.lines, value: record }
    if (broken !== undefined) yield { line: parser.info.lines, problem: broken }
  } catch (error) {
    yield {
      line: parser.info.lines,
      problem: `is not valid CSV: ${error instanceof Error ? error.message : 'unknown error'}`,
    }
  }
  await feeding
}

/** Bytes that are not UTF-8 end the text with a problem; the byte order mark is dropped. */
async function* decodeUtf8(bytes: AsyncIterable<Buffer>): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of bytes) yield { text: decoder.decode(chunk, { stream: true }) }
    yield { text: decoder.decode() }
  } catch (error) {
    if (error instanceof TypeError) yield { problem: 'is not UTF-8 text' }
    else if (isZlibError(error)) yield { problem: 'is not valid gzip' }
    else throw error
  }
}

function gunzip(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const unpacked = new PassThrough()
  pipeline(bytes, createGunzip(), unpacked).catch((error: Error) => unpacked.destroy(error))
  return unpacked
}

const isZlibError = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && String(error.code).startsWith('Z_')

async function* prepend<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first
  for (;;) {
    const next = await rest.next()
    if (next.done) return
    yield next.value
  }
}
