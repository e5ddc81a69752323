// Evals over HTTP: what is refused, by which name, before anything is stored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from '../support.ts'

const criterion = {
  type: 'string_check',
  name: 'same',
  operation: 'eq',
  input: '{{sample.output_text}}',
  reference: '{{item.answer}}',
}
const definition = { itemSchema: { type: 'object' }, includesSample: true, criteria: [criterion] }
const evalId = `eval_${'1'.repeat(8)}${'1'.repeat(24)}`
const stored = { id: 'x', name: 'n', metadata: null, definition, createdAt: new Date(0), updatedAt: new Date(0) }

const edge = await startPublic({
  database: {
    evals: { find: () => Promise.resolve(stored) },
    modelEvaluations: { openOf: () => Promise.resolve({ evaluationCount: 0, answerCount: 0 }) },
  },
})

async function refusal(path: string, json: object) {
  const { status, json: body } = await edge.call('POST', `/openai/v1/evals${path}`, { json })
  const { error } = body as unknown as { error: { param: string | null; message: string } }
  return [status, error.param, error.message] as const
}

const create = (criteria: object, config: object = {}) =>
  refusal('', {
    data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true, ...config },
    testing_criteria: [criteria],
  })

test('criteria that are not supported are refused by name', async () => {
  const [status, param, message] = await create({ type: 'java', name: 'p', source: 'pass' })
  assert.deepEqual([status, param], [400, 'testing_criteria[0].type'])
  assert.match(message, /"java" is not supported: use string_check, text_similarity, score_model, label_model, python/)
  const [, at, off] = await create({ type: 'python', name: 'p', source: 'pass' })
  assert.deepEqual([at, /operator has not set ANNEAL_PYTHON_GRADERS/.test(off)], ['testing_criteria[0]', true])
  const similarity = { ...criterion, type: 'text_similarity', evaluation_metric: 'meteor', pass_threshold: 1 }
  const { operation: _operation, ...meteor } = similarity
  assert.match((await create(meteor))[2], /evaluation_metric "meteor" is not supported: use bleu/)
  assert.equal((await create({ ...criterion, input: '{{answer}}' }))[1], 'testing_criteria[0].input')
  assert.match((await create(criterion, { include_sample_schema: false }))[2], /include_sample_schema must be true/)
  assert.equal((await create(criterion, { item_schema: { uniqueItems: true } }))[1], 'data_source_config.item_schema')
  assert.match((await create(criterion, { type: 'logs' }))[2], /"logs" is not supported/)
})

const run = (source: object) => refusal(`/${evalId}/runs`, { data_source: source })
const content = (...items: object[]) => ({ type: 'file_content', content: items })
const asking = {
  type: 'completions',
  model: 'tiny',
  source: content({ item: { question: 'Who?', answer: 'Ann' } }, { item: { question: 'Where?' } }),
  input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.question}}' }] },
}

test('a run is refused by the item and the part that it lacks', async () => {
  const [status, param, message] = await run(asking)
  assert.deepEqual([status, param], [400, 'data_source.source'])
  assert.match(message, /Item 1 of data_source\.source lacks a part: \{\{item\.answer\}\}/)
  const given = await run({ type: 'jsonl', source: content({ item: { answer: 'Ann' } }) })
  assert.match(given[2], /Item 0 .*\{\{sample\}\}/)
})

test('sampling parameters are checked before the run is accepted', async () => {
  const sampled = (sampling_params: object, more: object = {}) => run({ ...asking, sampling_params, ...more })
  const [, param, message] = await sampled({ temperature: 9 })
  assert.equal(param, 'data_source.sampling_params.temperature')
  assert.match(message, /^data_source\.sampling_params\.temperature must be at most 2/)
  assert.equal((await sampled({ n: 2 }))[1], 'data_source.sampling_params.n')
  assert.equal((await sampled({ unheard_of: 1 }, { type: 'responses' }))[1], 'data_source.sampling_params.unheard_of')
  const format = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'array', uniqueItems: true } } }
  assert.match((await sampled({ response_format: format }))[2], /uniqueItems/)
})

test('stored chats are no source', async () => {
  assert.match(
    (await run({ ...asking, source: { type: 'stored_completions' } }))[2],
    /stored chats and responses are no source/,
  )
})

test('a run is refused when its templates are too long, alone or filled with an item', async () => {
  const messages = (parts: number) => ({
    type: 'template',
    template: [{ role: 'user', content: Array(parts).fill('x'.repeat(20_000)) }],
  })
  const [status, param, sentence] = await run({ ...asking, input_messages: messages(7) })
  assert.deepEqual([status, param], [400, 'data_source'])
  assert.match(sentence, /data_source must have at most 131072 characters of JSON without its items/)
  const named = { type: 'template', template: [{ role: 'user', content: '{{item.question}}'.repeat(100) }] }
  const long = content({ item: { question: 'x'.repeat(60_000), answer: 'a' } })
  const filled = await run({ ...asking, source: long, input_messages: named })
  assert.deepEqual(filled.slice(0, 2), [400, 'data_source.source'])
  assert.match(filled[2], /^Item 0 of data_source.source is too long for the texts that name its parts/)
})

test('a template whose names are never closed is text', async () => {
  const open = `{{${' '.repeat(19_000)}`
  assert.match((await create({ ...criterion, input: open }, { item_schema: { uniqueItems: true } }))[2], /uniqueItems/)
})
