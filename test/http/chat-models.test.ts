// Prompts for a model that learned conversations: asked as chats where the request says so, with a warning where it does not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Learned } from '../../src/domain/learned.ts'
import { promptsOf, type CompletionRequest } from '../../src/inference/request.ts'
import { accountId, startPublic } from './support.ts'

const asked: CompletionRequest[] = []
let answerOf = (prompt: string) => prompt.toUpperCase()
let learned: Learned | null = { form: 'conversations', systemMessage: 'Be brief.' }
const name = 'f'.repeat(64)
const model = { name, jobId: 7, artifactId: 'a', baseModel: 'tiny', files: [], createdAt: new Date(0) }
const named = { customModelName: 'pip', modelVersion: 1, datasetId: 'rows', fileName: null, datasetRun: 1 }
const finished = {
  id: '22222222-2222-4222-8222-222222222222',
  accountId,
  kind: 'completions',
  request: { chunkSize: 16, chunks: [{ offset: 0, sizeBytes: 1 }], input: null },
  itemCount: 2,
  ...{ doneCount: 2, failedCount: 0, emptyCount: 1 },
  ...{ state: 'done', message: null, resultKey: null },
}
let batch: object = finished
const chunk = {
  values: '{"output":"A"},{"output":""}',
  finishReasons: '"stop","stop"',
  ...{ step: 0, isFinal: true, errors: '', errorCount: 0 },
}
const edge = await startPublic({
  inference: {
    complete: (request: CompletionRequest) => {
      asked.push(request)
      const prompts = promptsOf(request.input)
      return Promise.resolve({
        outputs: prompts.map((prompt) => ({ output: answerOf(String(prompt)) })),
        finishReasons: prompts.map(() => 'stop'),
      })
    },
  },
  database: {
    inferenceBatches: {
      find: () => Promise.resolve(batch),
      listLeadingChunks: (_id: string, _size: number, first: number) => Promise.resolve([chunk].slice(first)),
    },
    modelServers: { listServed: () => Promise.resolve([]) },
    models: {
      find: () => Promise.resolve({ ...model, learned }),
      list: () => Promise.resolve([{ ...model, ...named, aliases: [], createdMicros: '0', learned }]),
    },
  },
})

async function complete(json: object, path = '/v1/completions') {
  const { status, json: body, headers } = await edge.call('POST', path, { json: { model_name: name, ...json } })
  assert.equal(status, 200, JSON.stringify(body))
  return { body, warning: headers['x-anneal-warning'] ?? null }
}
const chats = () => {
  const input = asked.at(-1)?.input
  assert.ok(input?.kind === 'chat')
  return input.chats.map(({ messages }) => messages.map(({ role, content }) => `${role}: ${content}`))
}

test('as_chat asks each prompt as the message of a user, after the learned system message or the one of the request', async () => {
  const { body, warning } = await complete({ prompt: ['Who?', 'Why?'], as_chat: true })
  assert.deepEqual(chats(), [
    ['system: Be brief.', 'user: Who?'],
    ['system: Be brief.', 'user: Why?'],
  ])
  assert.equal((body as unknown[]).length, 2)
  assert.equal(warning, null)
  await complete({ prompt: 'Who?', as_chat: true, system: 'Rhyme.' })
  assert.deepEqual(chats(), [['system: Rhyme.', 'user: Who?']])
  await complete({ prompt: 'Who?', as_chat: true, system: '' })
  assert.deepEqual(chats(), [['user: Who?']])
  await complete({ prompt: 'Who?', as_chat: true, system: null }, '/v1/streaming_completions')
  assert.deepEqual(chats(), [['system: Be brief.', 'user: Who?']])
})

test('a plain prompt is sent as it is, and the answer has a warning in a header', async () => {
  const learnedForm = /^This model learned conversations, but the prompt was sent as plain text: .*"as_chat": true/
  for (const path of ['/v1/completions', '/v2/completions', '/v1/streaming_completions']) {
    const { warning } = await complete({ prompt: 'Who?' }, path)
    assert.deepEqual(asked.at(-1)?.input.kind, 'prompts')
    assert.match(String(warning), learnedForm)
  }
  const { headers } = await edge.call('POST', '/openai/v1/completions', { json: { model: name, prompt: 'Who?' } })
  assert.match(String(headers['x-anneal-warning']), learnedForm)
  const { body, warning } = await complete({ prompt: 'Who?', as_chat: false })
  assert.deepEqual(body, { output: 'WHO?' })
  assert.match(String(warning), learnedForm)
})

test('an empty answer has a warning, and the body stays as it is', async () => {
  answerOf = (prompt) => (prompt.includes('Who') ? ' ' : 'A')
  assert.deepEqual(await complete({ prompt: 'Who?' }), {
    body: { output: ' ' },
    warning:
      'The answer is empty: this model learned conversations, so ask it as a chat ("as_chat": true, or POST /openai/v1/chat/completions).',
  })
  assert.match(String((await complete({ prompt: ['Who?', 'Why?'] })).warning), /^1 of 2 answers are empty: /)
  learned = { form: 'pairs', systemMessage: null }
  assert.equal((await complete({ prompt: 'Why?' })).warning, null)
  assert.equal((await complete({ prompt: 'Who?' })).warning, 'The answer is empty: the model ended at once.')
  learned = { form: 'conversations', systemMessage: 'Be brief.' }
  answerOf = (prompt) => prompt.toUpperCase()
})

test('the result of a batch has a warning of its empty answers and of its plain prompts, and its body stays as it is', async () => {
  const warningOf = async (more: object, path = '/v1/batch_completions') => {
    const kind = path.includes('streaming') ? 'streaming' : 'completions'
    batch = { ...finished, kind, ...more }
    const { json, headers } = await edge.call('GET', `${path}/${finished.id}/result`)
    assert.deepEqual(json, { outputs: [{ output: 'A' }, { output: '' }], finish_reason: ['stop', 'stop'] })
    return headers['x-anneal-warning'] ?? null
  }
  assert.equal(await warningOf({ emptyCount: 0 }), null)
  assert.equal(await warningOf({}), '1 of 2 answers are empty: the model ended at once.')
  const request = { ...finished.request, risk: 'learned_conversations' }
  for (const path of ['/v1/batch_completions', '/v3/streaming_completions']) {
    assert.match(String(await warningOf({ request, emptyCount: 0 }, path)), /prompt was sent as plain text/)
    assert.match(String(await warningOf({ request }, path)), /^1 of 2 answers are empty: this model learned conv/)
  }
})

test('a field without effect is told', async () => {
  const { warning } = await complete({ prompt: 'Who?', system: 'Rhyme.' })
  assert.equal(warning, 'system has no effect without "as_chat": true.')
  const other = await complete({ prompt: 'Who?', as_chat: true, special_tokens: true })
  assert.match(String(other.warning), /^special_tokens has no effect with as_chat/)
})

test('models say what they learned', async () => {
  const factsOf = async () => {
    const { json } = await edge.call('GET', '/v1/models')
    const [base, , tuned] = (json as { data: Record<string, unknown>[] }).data
    return [base, tuned].map((each) => [each?.['learned_form'], each?.['has_chat_template'], each?.['system_message']])
  }
  assert.deepEqual(await factsOf(), [
    [null, false, null],
    ['conversations', false, 'Be brief.'],
  ])
  learned = null
  assert.deepEqual((await factsOf())[1], [null, false, null])
  learned = { form: 'conversations', systemMessage: 'Be brief.' }
})
