// `anneal chat` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { root } from '../../tools/paths.mjs'

type Question = { model: string; messages: { role: string; content: string }[] }

const asked: Question[] = []
const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
const server = createServer(async (request, response) => {
  const question = (await json(request)) as Question
  asked.push(question)
  if (question.model === 'absent') {
    response.writeHead(404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'There is no model "absent". GET /v1/models lists the models.' } }))
    return
  }
  response.setHeader('Content-Type', 'text/event-stream')
  response.end(`${piece('answer ')}${piece(String(asked.length))}data: [DONE]\n\n`)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())

async function chat(args: string[], input = '') {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { ...process.env, ANNEAL_URL: url, ANNEAL_API_KEY: 'ank_test' }
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), 'chat', ...args], { env })
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { stdout, stderr, code: code as number }
}

test('each line is the next turn, after the system message and the turns before', async () => {
  const { stdout, stderr, code } = await chat(['--model', 'm', '--system', 'Be brief.'], 'Who?\nWhy?\n')
  assert.deepEqual([code, stdout], [0, 'answer 1\nanswer 2\n'], stderr)
  assert.deepEqual(
    asked.at(-1)?.messages.map(({ role, content }) => `${role}: ${content}`),
    ['system: Be brief.', 'user: Who?', 'assistant: answer 1', 'user: Why?'],
  )
})

test('a refusal in the form of OpenAI is told as a sentence', async () => {
  const { stderr, code } = await chat(['Who?', '--model', 'absent'])
  assert.deepEqual([code, stderr], [1, 'There is no model "absent". `anneal models list` lists the models.\n'])
})
