// A server of a user on this machine, which takes webhooks and keeps what it was sent.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { webhookPayload } from '../../src/domain/webhook.ts'

type Event = ReturnType<typeof webhookPayload>
type Received = { id: string; headers: IncomingHttpHeaders; body: string; event: Event; status: number }

/** `answer` says with which status; a promise keeps the sender waiting. */
export async function startReceiver(answer: (event: Event) => number | Promise<number> = () => 200) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk)
    const event = JSON.parse(body) as Event
    const status = await answer(event)
    received.push({ id: String(request.headers['webhook-id']), headers: request.headers, body, event, status })
    response.writeHead(status).end()
  })
  let port = 0
  async function start() {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  await start()
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    received,
    taken: () => received.filter(({ status }) => status === 200),
    start,
    async stop() {
      server.closeAllConnections()
      if (server.listening) await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** By the reference library. */
export function isSignedBy(secret: string, { body, headers }: Received): boolean {
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>) !== undefined
  } catch {
    return false
  }
}
