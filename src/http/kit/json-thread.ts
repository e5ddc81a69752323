// Runs in a thread: parses a large body, then hands it over piece by piece, as the main thread asks. Or checks a large row.
import { parentPort } from 'node:worker_threads'
import { validateRow } from '../../domain/validate-row.ts'
import type { JsonBounds } from '../../domain/json-bounds.ts'
import { ServiceError, type InputIssue } from '../../domain/service-error.ts'
import { splitValue, type PieceOfValue } from './json-split.ts'
import { parseObject, readText } from './parse-json.ts'

export type Question = { body: Uint8Array; bounds: JsonBounds } | { row: Uint8Array; path: string } | 'more'

export type Invalid = { invalid: string; issues: readonly InputIssue[] }
/** The object, whose large values are empty and follow in pieces until one is null. */
export type LargeBody = { value: object; values: number } | Invalid
/** The bytes are given back. */
export type LargeRow = { row: Uint8Array } | Invalid

let left: IteratorObject<PieceOfValue> = [].values()

parentPort?.on('message', (question: Question) => {
  if (question === 'more') parentPort?.postMessage(left.next().value ?? null)
  else if ('body' in question) parentPort?.postMessage(orWhy(() => begin(question)))
  else parentPort?.postMessage(...check(question))
})

function begin({ body, bounds }: Exclude<Question, 'more' | { row: unknown }>): LargeBody {
  const { text, values } = readText(body, bounds)
  const { value, pieces } = splitValue(parseObject(text))
  left = pieces
  return { value, values }
}

function check({ row, path }: Exclude<Question, 'more' | { body: unknown }>): [LargeRow, ArrayBuffer[]] {
  const { buffer, byteOffset, byteLength } = row
  const answer = orWhy(() => {
    validateRow(Buffer.from(buffer, byteOffset, byteLength), path)
    return { row }
  })
  return [answer, 'row' in answer ? [buffer as ArrayBuffer] : []]
}

function orWhy<T>(work: () => T): T | Invalid {
  try {
    return work()
  } catch (error) {
    if (error instanceof ServiceError) return { invalid: error.message, issues: error.issues }
    throw error
  }
}
