// Many conversations in one request, against an engine that takes one in a call.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measured } from '../../src/domain/chat.ts'
import { ServiceError } from '../../src/domain/service-error.ts'
import { createInference } from '../../src/inference/inference.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'
import { createFakeServers } from './support/fake-servers.ts'
import { startStubEngine } from './support/stub-engine.ts'

type Body = { messages: { role: string; content: string }[] }

const engine = await startStubEngine((body, request, response) => {
  const [{ content } = { content: '' }] = (body as unknown as Body).messages
  assert.equal(request.url, '/v1/chat/completions')
  if (content === 'bad')
    return response.writeHead(400).end(JSON.stringify({ error: { message: 'No.', param: 'messages' } }))
  const message = { role: 'assistant', content: content.toUpperCase() }
  return response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
})
const servers = createFakeServers()
servers.set({ baseModel: tiny.name, state: 'ready', endpoint: engine.endpoint })
const inference = createInference(servers.dependencies())
const ask = (...texts: string[]) => {
  const chats = texts.map((content) => measured({ messages: [{ role: 'user', content }] }))
  return inference.complete({ ...askedPrompts(tiny, []), input: { kind: 'chat', chats } })
}

test('answers each conversation by a call of its own, in order', async () => {
  const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`)
  const { outputs } = await ask(...texts)
  assert.deepEqual(
    outputs.map(({ output }) => output),
    texts.map((text) => text.toUpperCase()),
  )
  assert.equal(engine.requests.length, 100)
})

test('names the conversation that the template refuses by its position', async () => {
  await assert.rejects(ask('good', 'bad'), (error) => {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_input')
    return error.issues[0]?.path === 'prompt[1]'
  })
})
