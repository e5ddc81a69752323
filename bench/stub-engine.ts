// `stub-engine.ts ENGINE_URL`: an engine that answers after a fixed time, and a bare proxy before ENGINE_URL. Sends its
// addresses to its parent process.
import { once } from 'node:events'
import { Agent, createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

export type StubUrls = { stub: string; proxyToStub: string; proxyToEngine: string }

const latencyMs = 5
/** An answer of the type that bench/request-path.ts requests. */
const typed = '{"colour":"red","price":7}'

const stub = createServer((incoming, response) => {
  // LiteLLM asks for other paths as well, without a body.
  if (incoming.method !== 'POST') return void response.writeHead(404).end()
  void json(incoming).then(async (asked) => {
    const { prompt, messages, structured_outputs } = asked as {
      prompt?: string[] | string
      messages?: object[]
      structured_outputs?: object
    }
    const text = structured_outputs ? typed : 'x'
    const message = { role: 'assistant', content: text }
    const answer = messages ? { message } : { text }
    const choices = [prompt ?? ''].flat().map((_, index) => ({ index, ...answer, finish_reason: 'stop' }))
    const usage = { prompt_tokens: choices.length, completion_tokens: choices.length }
    await sleep(latencyMs)
    const head = { id: 'stub', object: 'chat.completion', created: 0, model: 'stub' }
    const body = JSON.stringify({ ...head, choices, usage })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})

function proxyTo(url: string): Server {
  const agent = new Agent({ keepAlive: true })
  return createServer((incoming, response) => {
    const { method, headers } = incoming
    const outgoing = forward(new URL(incoming.url ?? '/', url), { agent, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    incoming.pipe(outgoing)
  })
}

async function open(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const stubUrl = await open(stub)
process.send?.({
  stub: stubUrl,
  proxyToStub: await open(proxyTo(stubUrl)),
  proxyToEngine: await open(proxyTo(process.argv[2] ?? '')),
} satisfies StubUrls)
process.once('disconnect', () => process.exit(0))
