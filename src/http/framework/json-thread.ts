// Runs in a thread: parses a large body, then hands over the lists in its fields piece by piece, as the main thread asks.
import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../../domain/service-error.ts'
import { parseObject } from './parse-json.ts'

/** The object with empty lists, whose items follow in `pieces` messages; or the reason why the body is invalid. */
export type LargeBody = { value: Record<string, unknown>; pieces: number } | { invalid: string }

export type PieceOfList = { field: string; items: unknown[] }

/** Receiving a piece takes the main thread about a millisecond. */
const pieceBytes = 128 * 1024
/** Values outside of lists are handed over at once, so their number is bounded; texts make a body large. */
const maxValues = 500_000
/** Structured cloning fails on deeper values; no request needs half of it. */
const maxDepth = 100

let left: PieceOfList[] = []

parentPort?.on('message', (message: Uint8Array | 'more') =>
  parentPort?.postMessage(message === 'more' ? left.shift() : begin(message)),
)

function begin({ buffer, byteOffset, byteLength }: Uint8Array): LargeBody {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  const invalid = invalidReason(bytes)
  if (invalid !== null) return { invalid }
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

const quote = 0x22
const backslash = 0x5c
const [comma, bracket, brace, endBracket, endBrace] = Buffer.from(',[{]}') as unknown as number[]

/** Scans the bytes before anything is parsed. Tells strings from the rest; the parser checks the syntax. */
function invalidReason(bytes: Buffer): string | null {
  let [depth, values] = [0, 1]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = stringEnd(bytes, at + 1)
    else if (byte === bracket || byte === brace) {
      values++
      if (++depth > maxDepth) return `The body is nested more than ${maxDepth} levels deep.`
    } else if (byte === endBracket || byte === endBrace) depth--
    else if (byte === comma && ++values > maxValues)
      return `The body holds more than ${maxValues} values. Split it into several requests.`
  }
  return null
}

function stringEnd(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(quote, from); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let before = end
    while (bytes[before - 1] === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
  return bytes.length
}
