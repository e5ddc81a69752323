// `anneal complete` against a service that only records what it is asked.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecordingService } from '../support/recording-service.ts'

const { asked, ...service } = await startRecordingService(() => ({
  headers: { 'X-Anneal-Warning': 'Mind this.' },
  body: [{ output: 'Ann.' }],
}))
const anneal = (...args: string[]) => service.anneal(['complete', ...args])

test('asks a chat model with a system message, and prints the warning of the service beside the answer', async () => {
  const { stdout, stderr, code } = await anneal('Who?', '--model', 'm', '--chat', '--system', 'Be brief.')
  assert.deepEqual([stdout, stderr, code], ['Ann.\n', 'Warning: Mind this.\n', 0])
  assert.partialDeepStrictEqual(JSON.parse(asked.at(-1)?.body ?? ''), {
    prompt: ['Who?'],
    as_chat: true,
    system: 'Be brief.',
  })
})

test('refuses a system message without a chat', async () => {
  const { stderr, code } = await anneal('Who?', '--model', 'm', '--system', 'Be brief.')
  assert.match(stderr, /--system needs --chat/)
  assert.equal(code, 2)
})
