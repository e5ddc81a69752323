// Runs in a thread: parses a large body, then hands it over piece by piece, as the main thread asks.
import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../../domain/service-error.ts'
import { splitValue, type PieceOfValue } from './json-split.ts'
import { parseObject } from './parse-json.ts'

/** The object, whose large values are empty and follow in pieces until one is null; or the reason why the body is invalid. */
export type LargeBody = { value: object } | { invalid: string }

let left: IteratorObject<PieceOfValue> = [].values()

parentPort?.on('message', (message: Uint8Array | 'more') =>
  parentPort?.postMessage(message === 'more' ? (left.next().value ?? null) : begin(message)),
)

function begin({ buffer, byteOffset, byteLength }: Uint8Array): LargeBody {
  try {
    const { value, pieces } = splitValue(parseObject(Buffer.from(buffer, byteOffset, byteLength)))
    left = pieces
    return { value }
  } catch (error) {
    if (error instanceof ServiceError) return { invalid: error.message }
    throw error
  }
}
