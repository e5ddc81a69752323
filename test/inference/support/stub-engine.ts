// An HTTP server in the place of an engine, for what a real one does only when it breaks.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { json } from 'node:stream/consumers'

type Body = {
  model: string
  prompt: string[]
  structured_outputs?: { regex?: string; grammar?: string }
  max_tokens: number
}
type Respond = (body: Body, request: IncomingMessage, response: ServerResponse) => void

/** Closed at the end of the test, also of one that fails. */
export async function startStubEngine(respond: Respond) {
  const requests: Body[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      requests.push(body as Body)
      respond(body as Body, request, response)
    })
  }).listen(0, '127.0.0.1')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return { requests, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** An answer as vLLM's, the last choice first. */
export const answerWith =
  (textOf: (prompt: string) => string): Respond =>
  ({ prompt }, _request, response) => {
    const choices = prompt.map((each, index) => ({ index, text: textOf(each), finish_reason: 'stop' })).toReversed()
    response.end(JSON.stringify({ choices }))
  }

export const refuseWith =
  (status: number, error: object): Respond =>
  (_body, _request, response) => {
    response.writeHead(status).end(JSON.stringify({ error }))
  }
