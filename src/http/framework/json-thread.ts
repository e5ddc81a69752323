// Runs in a thread: parses a large body, then hands over the lists in its fields piece by piece, as the main thread asks.
import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../../domain/service-error.ts'
import { parseObject } from './parse-json.ts'

/** The object with empty lists, whose items follow in `pieces` messages; or the reason why the body is invalid. */
export type LargeBody = { value: Record<string, unknown>; pieces: number } | { invalid: string }

export type PieceOfList = { field: string; items: unknown[] }

/** Receiving a piece takes the main thread about a millisecond. */
const pieceBytes = 128 * 1024

let left: PieceOfList[] = []

parentPort?.on('message', (message: Uint8Array | 'more') =>
  parentPort?.postMessage(message === 'more' ? left.shift() : begin(message)),
)

function begin({ buffer, byteOffset, byteLength }: Uint8Array): LargeBody {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  try {
    return splitLists(parseObject(bytes), Math.ceil(bytes.length / pieceBytes))
  } catch (error) {
    if (error instanceof ServiceError) return { invalid: error.message }
    throw error
  }
}

function splitLists(body: object, portions: number): LargeBody {
  const fields = Object.entries(body) as [string, unknown][]
  left = fields.flatMap(([field, list]) => (Array.isArray(list) ? piecesOf(field, list, portions) : []))
  const value = Object.fromEntries(fields.map(([field, each]) => [field, Array.isArray(each) ? [] : each]))
  return { value, pieces: left.length }
}

function piecesOf(field: string, list: unknown[], portions: number): PieceOfList[] {
  const size = Math.ceil(list.length / portions)
  const count = size === 0 ? 0 : Math.ceil(list.length / size)
  return Array.from({ length: count }, (_, index) => ({ field, items: list.slice(index * size, (index + 1) * size) }))
}
