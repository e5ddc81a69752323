import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  contentType = 'application/json; charset=utf-8',
) {
  const body = Buffer.from(JSON.stringify(value))
  response.statusCode = status
  response.setHeader('Content-Type', contentType)
  response.setHeader('Content-Length', body.length)
  response.end(body)
}

/**
 * Pages as one JSON array, at the client's pace. A failure on the first page is still an ordinary error answer;
 * later ones cut the connection, so that no client takes half a list for the whole.
 */
export async function streamJsonArray(response: ServerResponse, pages: AsyncIterable<unknown>) {
  const clientGone = gone(response)
  let opening = '['
  for await (const page of pages) {
    if (opening === '[') startArray(response)
    const items = (page as unknown[]).map((item) => JSON.stringify(item)).join(',')
    const isFlushed = response.write(`${opening}${items}`)
    opening = ','
    if (!isFlushed) await once(response, 'drain', { signal: clientGone })
    if (response.destroyed) return
  }
  if (opening === '[') startArray(response)
  response.end(opening === '[' ? '[]' : ']')
}

function startArray(response: ServerResponse) {
  response.statusCode = 200
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
}

/** Aborts when the client has gone before its answer. */
export function gone(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  else response.once('close', () => response.writableFinished || controller.abort())
  return controller.signal
}
