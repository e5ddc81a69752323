import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hasLongList, jsonPieces } from './json-pieces.ts'

/** JSON that is there as text: sent as it is, in pieces. */
export class JsonText {
  readonly pieces: AsyncIterable<string | Buffer>

  constructor(pieces: AsyncIterable<string | Buffer>) {
    this.pieces = pieces
  }
}

/**
 * The text of {"object":"list","data":[...]}: what is at hand, then page after page.
 * The first page is read before anything is sent: its failure is still an ordinary answer.
 */
export async function* listText<T>(atHand: object[], pages: AsyncIterable<T[]>, form: (item: T) => object) {
  const join = (items: object[]) => items.map((item) => JSON.stringify(item)).join(',')
  let opening = `{"object":"list","data":[${join(atHand)}`
  let comma = atHand.length > 0 ? ',' : ''
  for await (const page of pages) {
    yield opening + comma + join(page.map(form))
    opening = ''
    comma = ','
  }
  yield `${opening}]}`
}

/** A file as it was stored. */
export class FileBytes {
  readonly bytes: AsyncIterable<Buffer>
  readonly sizeBytes: number

  constructor(bytes: AsyncIterable<Buffer>, sizeBytes: number) {
    this.bytes = bytes
    this.sizeBytes = sizeBytes
  }
}

export async function sendFile(response: ServerResponse, { bytes, sizeBytes }: FileBytes) {
  startJson(response, 200, sizeBytes, 'application/octet-stream')
  await pipeline(Readable.from(bytes, { objectMode: false }), response)
}

/** Server-sent events. What fails before the first is an ordinary refusal; later, the refusal is the last of them. */
export class EventStream {
  readonly write: (send: (data: object) => void) => Promise<void>

  constructor(write: (send: (data: object) => void) => Promise<void>) {
    this.write = write
  }
}

export async function sendEvents(response: ServerResponse, { write }: EventStream) {
  await write((data) => {
    if (response.destroyed) return
    if (!response.headersSent) startEvents(response)
    response.write(eventText(JSON.stringify(data)))
  })
  response.end(eventText('[DONE]'))
}

function startEvents(response: ServerResponse) {
  response.statusCode = 200
  response.setHeader('Content-Type', eventStreamType)
  // A proxy that collects an answer would keep it back until its end.
  response.setHeader('X-Accel-Buffering', 'no')
}

const eventStreamType = 'text/event-stream; charset=utf-8'
export const isEventStream = (response: ServerResponse) =>
  response.headersSent && response.getHeader('content-type') === eventStreamType
export const eventText = (data: string) => `data: ${data}\n\n`

export async function sendJson(response: ServerResponse, value: unknown) {
  if (hasLongList(value)) return sendJsonText(response, new JsonText(jsonPieces(value)))
  // As text: node then writes head and body at once.
  const body = JSON.stringify(value)
  startJson(response, 200, Buffer.byteLength(body))
  response.end(body)
}

export function startJson(
  response: ServerResponse,
  status: number,
  sizeBytes: number,
  contentType = 'application/json; charset=utf-8',
) {
  response.statusCode = status
  response.setHeader('Content-Type', contentType)
  response.setHeader('Content-Length', sizeBytes)
}

/**
 * Pages as one JSON array, at the client's pace. A failure on the first page is still an ordinary error answer;
 * later ones cut the connection, so that no client takes half a list for the whole.
 */
export async function streamJsonArray(response: ServerResponse, pages: AsyncIterable<unknown>) {
  const gone = clientGone(response)
  let opening = '['
  for await (const page of pages) {
    if (opening === '[') startStream(response)
    const items = (page as unknown[]).map((item) => JSON.stringify(item)).join(',')
    const isFlushed = response.write(`${opening}${items}`)
    opening = ','
    if (!isFlushed) await once(response, 'drain', { signal: gone })
    if (response.destroyed) return
  }
  if (opening === '[') startStream(response)
  response.end(opening === '[' ? '[]' : ']')
}

/** At the client's pace; as with arrays, a failure after the first piece cuts the connection. */
export async function sendJsonText(response: ServerResponse, { pieces }: JsonText) {
  const rest = pieces[Symbol.asyncIterator]()
  const first = await rest.next()
  startStream(response)
  if (!first.done) response.write(first.value)
  await pipeline(Readable.from({ [Symbol.asyncIterator]: () => rest }, { objectMode: true }), response)
}

function startStream(response: ServerResponse) {
  response.statusCode = 200
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
}

/** Aborts when the client has gone before its answer. */
export function clientGone(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  else response.once('close', () => response.writableFinished || controller.abort())
  return controller.signal
}
