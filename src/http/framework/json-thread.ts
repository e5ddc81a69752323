// The inside of a thread that parses large bodies. Long lists in its fields leave a piece at a time, when asked for.
import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../../domain/service-error.ts'
import { parseObject } from './parse-json.ts'

/** An object without the items of its lists, which follow in so many pieces; or what is wrong with it. */
export type LargeBody = { value: Record<string, unknown>; pieces: number } | { invalid: string }

export type PieceOfList = { field: string; items: unknown[] }

/** About a millisecond of the event loop. */
const pieceBytes = 128 * 1024
/** Texts make a body large; what else is in one is handed over at once. */
const maxValues = 500_000
/** Deeper ones cannot be handed over; nothing that is asked for is half as deep. */
const maxDepth = 100

let left: PieceOfList[] = []

parentPort?.on('message', (message: Uint8Array | 'more') =>
  parentPort?.postMessage(message === 'more' ? left.shift() : begin(message)),
)

function begin({ buffer, byteOffset, byteLength }: Uint8Array): LargeBody {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  const invalid = unfit(bytes)
  if (invalid !== null) return { invalid }
  try {
    return takeApart(parseObject(bytes), Math.ceil(bytes.length / pieceBytes))
  } catch (error) {
    if (error instanceof ServiceError) return { invalid: error.message }
    throw error
  }
}

function takeApart(body: object, portions: number): LargeBody {
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

/** Before anything is built of it. Knows strings from the rest, and no more of JSON. */
function unfit(bytes: Buffer): string | null {
  let [depth, values] = [0, 1]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) at = stringEnd(bytes, at + 1)
    else if (byte === bracket || byte === brace) {
      values++
      if (++depth > maxDepth) return 'The body is nested too deeply.'
    } else if (byte === endBracket || byte === endBrace) depth--
    else if (byte === comma && ++values > maxValues)
      return `The body holds more than ${maxValues} values: send it in several requests.`
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
