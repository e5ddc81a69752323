// `anneal complete` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { root } from '../../tools/paths.mjs'

const asked: unknown[] = []
const server = createServer(async (request, response) => {
  asked.push(await json(request))
  response.setHeader('Content-Type', 'application/json').setHeader('X-Anneal-Warning', 'Mind this.')
  response.end(JSON.stringify([{ output: 'Ann.' }]))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const { port } = server.address() as { port: number }

async function anneal(...args: string[]) {
  const env = { ...process.env, ANNEAL_URL: `http://127.0.0.1:${port}`, ANNEAL_API_KEY: 'ank_test' }
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), 'complete', ...args], { env })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { stdout, stderr, code: code as number }
}

test('asks a chat model with a system message, and prints the warning of the service beside the answer', async () => {
  const { stdout, stderr, code } = await anneal('Who?', '--model', 'm', '--chat', '--system', 'Be brief.')
  assert.deepEqual([stdout, stderr, code], ['Ann.\n', 'Warning: Mind this.\n', 0])
  assert.partialDeepStrictEqual(asked.at(-1), { prompt: ['Who?'], as_chat: true, system: 'Be brief.' })
})

test('refuses a system message without a chat', async () => {
  const { stderr, code } = await anneal('Who?', '--model', 'm', '--system', 'Be brief.')
  assert.match(stderr, /--system needs --chat/)
  assert.equal(code, 2)
})
