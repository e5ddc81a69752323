// The server of `anneal mcp`, asked by the client of the protocol's SDK, before a service that only answers completions.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { answerText } from '../../src/cli/mcp/tool.ts'
import { root } from '../../tools/paths.mjs'
import { connectAssistant } from '../support/assistant.ts'

const bodies: unknown[] = []
const server = createServer(async (request, response) => {
  if (request.method === 'POST') bodies.push(await json(request))
  const isKnown = request.url === '/v2/completions'
  response.writeHead(isKnown ? 200 : 404, {
    'Content-Type': 'application/json',
    'X-Anneal-Warning': 'This model learned conversations.',
  })
  const answer = isKnown
    ? { outputs: [{ output: 'Me.' }], finish_reason: ['stop'] }
    : { detail: 'There is no model "x". GET /v1/models lists the models.' }
  response.end(JSON.stringify(answer))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const environment = {
  ANNEAL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  ANNEAL_API_KEY: 'ank_x',
}
const assistant = await connectAssistant(environment)
after(() => assistant.client.close())

test('marks the tools that change something, and names itself', async () => {
  const { tools } = await assistant.client.listTools()
  const those = (hint: 'readOnlyHint' | 'destructiveHint', value: boolean) =>
    tools.flatMap(({ name, annotations }) => (annotations?.[hint] === value ? [name] : [])).toSorted()
  const reading = ['ask', 'check_data', 'compare', 'describe', 'dry_run', 'follow', 'list', 'usage']
  assert.deepEqual(those('readOnlyHint', true), reading)
  assert.deepEqual(those('readOnlyHint', false), ['cancel', 'evaluate', 'train', 'upload_data'])
  assert.deepEqual(those('destructiveHint', true), ['cancel'])
  assert.equal(assistant.client.getServerVersion()?.name, 'anneal')
  assert.match(assistant.client.getInstructions() ?? '', /dry_run/)
})

test('a warning of the service comes with the answer', async () => {
  const { content } = await assistant.call('ask', { models: ['m'], prompt: 'Who?' })
  assert.deepEqual(
    content.map(({ text }) => text),
    ['[{"model":"m","answer":"Me.","finish_reason":"stop"}]', 'Warning: This model learned conversations.'],
  )
})

test('asks a prompt as a chat, and evaluates in the form of the request', async () => {
  await assistant.ask('ask', { models: ['m'], prompt: 'Who?', as_chat: true, system: 'Be brief.' })
  assert.partialDeepStrictEqual(bodies.at(-1), { prompt: 'Who?', as_chat: true, system: 'Be brief.' })
  const form = { as_chat: false, skip_bad_rows: true }
  await assistant.refusal('evaluate', { models: ['m'], dataset_id: 'd', ...form })
  assert.deepEqual(bodies.at(-1), { models: ['m'], dataset_id: 'd', max_rows: 100, ...form })
  assert.match(await assistant.refusal('ask', { models: ['m'], prompt: 'Who?', system: '' }), /needs "as_chat": true/)
  const messages = [{ role: 'user', content: 'Who?' }]
  assert.match(await assistant.refusal('ask', { models: ['m'], messages, as_chat: true }), /Begin messages with/)
})

test('refuses in a sentence what it cannot do, and an argument that it does not know', async () => {
  assert.equal(
    await assistant.refusal('describe', { what: 'job', name: '7' }),
    'There is no model "x". `anneal models list` lists the models.',
  )
  assert.match(await assistant.refusal('upload_data', { file: '/etc/passwd' }), /is no file of rows/)
  assert.match(await assistant.refusal('ask', { models: ['m'] }), /either prompt or messages/)
  assert.match(await assistant.refusal('list', { what: 'models', offset: 3 }), /offset/)
})

test('ends when its input does', async () => {
  const env = { ...process.env, ...environment }
  const child = spawn(process.execPath, ['src/cli.ts', 'mcp'], { cwd: root, env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end()
  assert.deepEqual(await once(child, 'close'), [0, null])
})

test('an answer is bounded, and says what it leaves out', () => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({ index, text: 'x'.repeat(10_000) }))
  const text = answerText({ rows, next: 7 })
  assert.ok(text.length <= 16_000, String(text.length))
  const { rows: shown, next } = JSON.parse(text) as { rows: unknown[]; next: number }
  assert.equal(next, 7)
  assert.match(String(shown.at(-1)), /^… \(\d+ more\)$/)
  assert.match((shown[0] as { text: string }).text, /… \(\d+ more characters\)$/)
})

test('a short answer is whole', () => {
  const value = { a: [1, 'two', null], b: { c: true } }
  assert.deepEqual(JSON.parse(answerText(value)), value)
})

test('trains by a method in the shape of the service', async () => {
  const hyperparameters = { beta: 0.2 }
  await assistant.refusal('train', {
    model: 'm',
    dataset_id: 'd',
    method: { type: 'dpo', hyperparameters },
    force: true,
  })
  assert.deepEqual(bodies.at(-1), {
    ...{ model_name: 'm', dataset_id: 'd', force: true },
    method: { type: 'dpo', dpo: { hyperparameters } },
  })
})
