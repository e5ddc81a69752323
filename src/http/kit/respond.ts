// The forms of an answer: JSON, streamed JSON, server-sent events and files.
import { hash } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isLargeJson, jsonPieces } from '../../json-pieces.ts'
import { inTurns } from '../../turns.ts'
import { compress, createCompressor, isCompressed } from './compression.ts'

/** JSON that is already text. */
export class JsonText {
  readonly pieces: AsyncIterable<string | Buffer>

  constructor(pieces: AsyncIterable<string | Buffer>) {
    this.pieces = pieces
  }
}

export class FileBytes {
  readonly bytes: AsyncIterable<Buffer>
  readonly sizeBytes: number | null
  readonly contentType: string

  /** @param sizeBytes null when it is not known before the end */
  constructor(bytes: AsyncIterable<Buffer>, sizeBytes: number | null, contentType = 'application/octet-stream') {
    this.bytes = bytes
    this.sizeBytes = sizeBytes
    this.contentType = contentType
  }
}

/** Server-sent events. A failure before the first event is an ordinary error answer; a later failure becomes the last event. */
export class EventStream {
  readonly write: (send: (data: object) => void) => Promise<void>
  readonly hasNames: boolean

  /** @param hasNames each event has the name that its data has as `type`, and no [DONE] follows the last one */
  constructor(write: (send: (data: object) => void) => Promise<void>, { hasNames = false } = {}) {
    this.write = write
    this.hasNames = hasNames
  }
}

/** Text of server-sent events, sent at the client's pace. A client that takes nothing for `slowClientMs` is cut. */
export class EventText {
  readonly pieces: AsyncIterable<string | Buffer>
  readonly slowClientMs: number

  constructor(pieces: AsyncIterable<string | Buffer>, { slowClientMs = 30_000 } = {}) {
    this.pieces = pieces
    this.slowClientMs = slowClientMs
  }
}

type SendOptions = {
  /** Each piece of a file or of large JSON waits for it. */
  turn: () => Promise<void>
  /** A client that names the tag of the answer gets 304 instead. Not for large JSON. */
  hasTag?: boolean | undefined
}

/** @param answer a JSON value, or pages (lists of items) that are streamed as one JSON array, or one of the classes above */
export async function sendAnswer(response: ServerResponse, answer: unknown, { turn, hasTag = false }: SendOptions) {
  if (answer instanceof EventStream) return sendEvents(response, answer)
  if (answer instanceof EventText) return sendEventText(response, answer)
  if (answer instanceof FileBytes) return sendFile(response, answer, turn)
  if (answer instanceof JsonText) return sendJsonText(response, answer.pieces, turn)
  if (isAsyncIterable(answer)) return sendJsonText(response, arrayText(answer as AsyncIterable<unknown[]>), turn)
  if (isLargeJson(answer)) return sendJsonText(response, jsonPieces(answer), turn)
  // One string, because node then writes headers and body in one packet.
  const text = JSON.stringify(answer)
  if (hasTag && isKnown(response, text)) return void response.writeHead(304).end()
  const sizeBytes = Buffer.byteLength(text)
  if (isCompressed(response, sizeBytes)) return sendBody(response, await compress(text))
  startAnswer(response, 200, sizeBytes)
  response.end(text)
}

function sendBody(response: ServerResponse, bytes: Buffer) {
  startAnswer(response, 200, bytes.length)
  response.end(bytes)
}

/** Names the answer by a hash. @returns whether the client has named the same hash */
function isKnown(response: ServerResponse, text: string): boolean {
  // Weak, because the tag stands for the compressed answer too.
  const tag = `W/"${hash('sha256', text, 'base64url').slice(0, 22)}"`
  response.setHeader('ETag', tag)
  // The client keeps the answer itself; a browser must not keep what a key may read on its disk.
  response.setHeader('Cache-Control', 'no-store')
  return response.req.headers['if-none-match'] === tag
}

const isAsyncIterable = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

/**
 * Writes {"object":"list","data":[...]}: first the `known` items, then page after page.
 * Reads the first page before it yields any text, so that a failure there is still an ordinary error answer.
 */
export async function* listText<T>(known: object[], pages: AsyncIterable<T[]>, toWire: (item: T) => object) {
  let opening = `{"object":"list","data":[${itemsText(known)}`
  let comma = known.length > 0 ? ',' : ''
  for await (const page of pages)
    for (const text of itemTexts(page, toWire)) {
      yield opening + comma + text
      opening = ''
      comma = ','
    }
  yield `${opening}]}`
}

async function* arrayText(pages: AsyncIterable<unknown[]>) {
  let opening = '['
  for await (const page of pages)
    for (const text of itemTexts(page, (item) => item)) {
      yield opening + text
      opening = ','
    }
  yield opening === '[' ? '[]' : ']'
}

/** Items whose JSON is written in a few milliseconds. */
const itemsOfTurn = 100

function* itemTexts<T>(page: readonly T[], toWire: (item: T) => unknown) {
  for (let first = 0; first < page.length; first += itemsOfTurn)
    yield itemsText(page.slice(first, first + itemsOfTurn).map(toWire))
}

const itemsText = (items: unknown[]) => items.map((item) => JSON.stringify(item)).join(',')

export function startAnswer(
  response: ServerResponse,
  status: number,
  sizeBytes: number | null,
  contentType = 'application/json; charset=utf-8',
) {
  response.statusCode = status
  response.setHeader('Content-Type', contentType)
  if (sizeBytes !== null) response.setHeader('Content-Length', sizeBytes)
}

/**
 * Sends text at the client's pace. A failure before the first piece is an ordinary error answer; a later one cuts the connection,
 * so that no client takes half an answer for the whole.
 */
async function sendJsonText(
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  turn: () => Promise<void>,
) {
  const rest = inTurns(pieces, turn)
  const first = await rest.next()
  const start = first.done ? '' : first.value
  const compressor = isCompressed(response, Buffer.byteLength(start)) ? createCompressor() : null
  startAnswer(response, 200, null)
  const body = Readable.from(rest, { objectMode: true })
  if (start.length > 0) (compressor ?? response).write(start)
  await (compressor ? pipeline(body, compressor, response) : pipeline(body, response))
}

async function sendFile(
  response: ServerResponse,
  { bytes, sizeBytes, contentType }: FileBytes,
  turn: () => Promise<void>,
) {
  startAnswer(response, 200, sizeBytes, contentType)
  await pipeline(Readable.from(inTurns(bytes, turn), { objectMode: false }), response)
}

async function sendEvents(response: ServerResponse, { write, hasNames }: EventStream) {
  await write((data) => {
    if (response.destroyed) return
    if (!response.headersSent) startEvents(response)
    const name = hasNames && 'type' in data ? `event: ${String(data.type)}\n` : ''
    response.write(name + eventText(JSON.stringify(data)))
  })
  response.end(hasNames ? '' : eventText('[DONE]'))
}

function startEvents(response: ServerResponse) {
  startAnswer(response, 200, null, eventStreamType)
  // Without this header, nginx would hold the events back until the answer ends.
  response.setHeader('X-Accel-Buffering', 'no')
}

async function sendEventText(response: ServerResponse, { pieces, slowClientMs }: EventText) {
  startEvents(response)
  const gone = clientGone(response)
  for await (const piece of pieces) {
    // A HEAD request has its answer with the headers.
    if (response.destroyed || response.req.method === 'HEAD') break
    if (!response.write(piece) && !(await isDrained(response, [gone, AbortSignal.timeout(slowClientMs)])))
      return void response.destroy()
  }
  response.end()
}

/** Waits until the client has taken what was written. @returns false when a signal came first */
const isDrained = (response: ServerResponse, signals: AbortSignal[]): Promise<boolean> =>
  once(response, 'drain', { signal: AbortSignal.any(signals) }).then(
    () => true,
    () => false,
  )

const eventStreamType = 'text/event-stream; charset=utf-8'
export const isEventStream = (response: ServerResponse) =>
  response.headersSent && response.getHeader('content-type') === eventStreamType
export const eventText = (data: string) => `data: ${data}\n\n`

/** The Link header (RFC 8288) of a list that goes on: the same query with the cursor of the next page. */
export function linkToNext(path: string, query: Record<string, string | number | undefined>): string {
  const next = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) next.set(name, String(value))
  return `<${path}?${next.toString()}>; rel="next"`
}

const signals = new WeakMap<ServerResponse, AbortSignal>()

/** Aborts when the client leaves before it has the answer. A response has one signal, whoever asks for it. */
export function clientGone(response: ServerResponse): AbortSignal {
  const known = signals.get(response)
  if (known) return known
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  else response.once('close', () => response.writableFinished || controller.abort())
  signals.set(response, controller.signal)
  return controller.signal
}
