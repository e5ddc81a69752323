// `anneal chat` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecordingService } from '../support/recording-service.ts'

type Question = { model: string; messages: { role: string; content: string }[] }

const questionOf = (body = '') => JSON.parse(body) as Question
const piece = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
const { asked, ...service } = await startRecordingService(({ body }, { asked }) => {
  if (questionOf(body).model === 'absent')
    return { status: 404, body: { error: { message: 'There is no model "absent". GET /v1/models lists the models.' } } }
  const text = `${piece('answer ')}${piece(String(asked.length))}data: [DONE]\n\n`
  return { headers: { 'Content-Type': 'text/event-stream' }, text }
})
const chat = (args: string[], input?: string) => service.anneal(['chat', ...args], input)

test('each line is the next turn, after the system message and the turns before', async () => {
  const { stdout, stderr, code } = await chat(['--model', 'm', '--system', 'Be brief.'], 'Who?\nWhy?\n')
  assert.deepEqual([code, stdout], [0, 'answer 1\nanswer 2\n'], stderr)
  assert.deepEqual(
    questionOf(asked.at(-1)?.body).messages.map(({ role, content }) => `${role}: ${content}`),
    ['system: Be brief.', 'user: Who?', 'assistant: answer 1', 'user: Why?'],
  )
})

test('a refusal in the form of OpenAI is told as a sentence', async () => {
  const { stderr, code } = await chat(['Who?', '--model', 'absent'])
  assert.deepEqual([code, stderr], [1, 'There is no model "absent". `anneal models list` lists the models.\n'])
})
