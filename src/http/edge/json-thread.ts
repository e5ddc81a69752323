// The inside of the thread that parses large bodies. Long lists in its fields leave a piece at a time, when asked for.
import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../../domain/service-error.ts'
import { parseObject } from './json-text.ts'

/** An object without the items of its lists, which follow in so many pieces; or what is wrong with it. */
export type LargeBody = { value: Record<string, unknown>; pieces: number } | { invalid: string }

export type PieceOfList = { field: string; items: unknown[] }

/** About a millisecond of the event loop. */
const pieceBytes = 128 * 1024

let left: PieceOfList[] = []

parentPort?.on('message', (message: Uint8Array | 'more') => {
  if (message === 'more') return parentPort?.postMessage(left.shift())
  try {
    parentPort?.postMessage(begin(Buffer.from(message.buffer, message.byteOffset, message.byteLength)))
  } catch (error) {
    parentPort?.postMessage({ invalid: whyNot(error) })
  }
})

function begin(bytes: Buffer): LargeBody {
  const fields = Object.entries(parseObject(bytes)) as [string, unknown][]
  const portions = Math.ceil(bytes.length / pieceBytes)
  left = fields.flatMap(([field, list]) => (Array.isArray(list) ? piecesOf(field, list, portions) : []))
  const value = Object.fromEntries(fields.map(([field, each]) => [field, Array.isArray(each) ? [] : each]))
  return { value, pieces: left.length }
}

function piecesOf(field: string, list: unknown[], portions: number): PieceOfList[] {
  const size = Math.ceil(list.length / portions)
  const count = size === 0 ? 0 : Math.ceil(list.length / size)
  return Array.from({ length: count }, (_, index) => ({ field, items: list.slice(index * size, (index + 1) * size) }))
}

function whyNot(error: unknown): string {
  if (error instanceof ServiceError) return error.message
  // What is nested some thousand levels deep cannot be handed over.
  if (error instanceof RangeError || error instanceof DOMException) return 'The body is nested too deeply.'
  throw error
}
