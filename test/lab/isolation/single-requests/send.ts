// Sends one request with headers, forms and large bodies. Bodies of answers are read, and kept only if they are small JSON.
import { Agent, request as httpRequest } from 'node:http'
import { jsonOf, noAnswer, readAnswer, type Answer } from '../accounts.ts'
import type { Sent } from './extreme.ts'

const agent = new Agent({ keepAlive: false })
/** A longer answer is only counted. */
const keptCharacters = 4 * 1024 * 1024
/** A request that the model works on for longer has shown what it holds. */
const timeoutMs = 90_000

export type Send = (method: string, path: string, sent: Sent) => Promise<Answer>

export function createSend(apiUrl: string, apiKey: string): Send {
  return async (method, path, { query, headers = {}, body }) => {
    const payload = await payloadOf(body)
    const url = new URL(query === undefined ? path : `${path}?${query}`, apiUrl)
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const signal = AbortSignal.timeout(timeoutMs)
    const fail = (error: Error) => resolve(signal.aborted ? noAnswer('given_up') : noAnswer('no_answer', String(error)))
    const outgoing = httpRequest(
      url,
      {
        method,
        agent,
        signal,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(payload && { 'content-type': payload.type, 'content-length': payload.bytes.length }),
          ...headers,
        },
      },
      (incoming) => {
        const kept: Buffer[] = []
        let sizeBytes = 0
        incoming.on('data', (piece: Buffer) => {
          sizeBytes += piece.length
          if (sizeBytes <= keptCharacters) kept.push(piece)
        })
        incoming.on('error', fail)
        incoming.on('end', () => {
          const isJson = (incoming.headers['content-type'] ?? '').includes('json') && sizeBytes <= keptCharacters
          const text = isJson ? Buffer.concat(kept).toString() : ''
          resolve(readAnswer(incoming.statusCode ?? 0, incoming.headers['retry-after'] ?? null, text))
        })
      },
    )
    outgoing.on('error', fail)
    outgoing.end(payload?.bytes)
    return promise
  }
}

async function payloadOf(body: object | undefined) {
  if (body === undefined) return null
  if (Buffer.isBuffer(body)) return { type: 'application/json', bytes: body }
  if (!(body instanceof FormData)) return { type: 'application/json', bytes: jsonOf(body) }
  const encoded = new Response(body)
  return { type: encoded.headers.get('content-type') ?? '', bytes: Buffer.from(await encoded.arrayBuffer()) }
}
