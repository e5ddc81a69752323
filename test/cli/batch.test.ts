// `anneal batch` against a service that answers half of a batch first.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { root } from '../../tools/paths.mjs'

const asked: unknown[] = []
let polls = 0
const server = createServer(async (request, response) => {
  response.setHeader('Content-Type', 'application/json')
  if (request.method === 'POST') {
    asked.push(await json(request))
    return response.end('{"id":"b"}')
  }
  const isDone = ++polls > 1
  response.setHeader('X-Anneal-Warning', `${polls} of 2 answers are empty.`)
  response.end(
    JSON.stringify({
      outputs: [{ output: '' }, isDone ? { output: '' } : null],
      finish_reason: ['stop', isDone ? 'stop' : null],
    }),
  )
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const { port } = server.address() as { port: number }

test('asks as chats, and prints the warning of the whole result once', async () => {
  const env = { ...process.env, ANNEAL_URL: `http://127.0.0.1:${port}`, ANNEAL_API_KEY: 'ank_test' }
  const args = ['batch', 'complete', 'Who?', 'Why?', '--model', 'm', '--chat', '--system', 'Be brief.', '--wait']
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), ...args], { env })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.deepEqual(
    [stdout, stderr, code],
    ['{"output":""}\n{"output":""}\n', 'Warning: 2 of 2 answers are empty.\n', 0],
  )
  assert.deepEqual(asked, [{ as_chat: true, system: 'Be brief.', prompt: ['Who?', 'Why?'], model_name: 'm' }])
})
