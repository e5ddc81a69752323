// Trainings that are refused for want of room, as clients of both APIs see them.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parseCatalogue } from '../../src/domain/catalogue.ts'
import { startPublic } from './support.ts'

const shape = {
  ...{ hiddenSize: 4096, layers: 32, intermediateSize: 14_336, queryWidth: 4096, keyWidth: 1024 },
  ...{ vocabularySize: 128_256, sharesEmbeddings: false },
}
const source = { path: 'x' }
const resources = { gpuCount: 1, gpuMemoryGiB: 2 }
const catalogue = parseCatalogue(
  {
    models: [
      { name: 'llama-8b', task: 'completion', engine: 'transformers', source, contextLength: 8192, resources },
      { name: 'tiny', task: 'completion', engine: 'transformers', source, contextLength: 1024 },
      { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
    ],
  },
  () => ({ shape }),
)
const grader = {
  type: 'string_check',
  name: 'same',
  operation: 'eq',
  input: '{{sample.output_text}}',
  reference: 'yes',
}
const method = { type: 'reinforcement', reinforcement: { grader } }
const file = 'file-33333333333343338333333333333333'
/** As far as OpenAI's route needs it, to find the file. */
const datasets = { findFile: () => Promise.resolve({ datasetId: 'questions' }) }
const stubs = { catalogue: catalogue as unknown as Record<string, unknown> }

suite('a training that does not fit into its GPU', async () => {
  const { call } = await startPublic({ ...stubs, database: { datasets } })

  test('is refused on our route with 400 does_not_fit, the field and what to change', async () => {
    const json = { model_name: 'llama-8b', dataset_id: 'questions' }
    const { status, json: answer } = await call('POST', '/v1/train', { json })
    assert.deepEqual([status, answer.code], [400, 'does_not_fit'])
    assert.match(answer.detail, /^This training needs about \d+ GiB and a GPU of llama-8b has 2\./)
  })

  test("is refused on OpenAI's route in OpenAI's shape", async () => {
    const { status, json } = await call('POST', '/openai/v1/fine_tuning/jobs', {
      json: { model: 'llama-8b', training_file: file },
    })
    assert.deepEqual([status, json.error.code], [400, 'does_not_fit'])
    assert.match(json.error.message, /a GPU of llama-8b has 2\./)
  })
})

suite('a reinforcement job beyond the stored rollouts of its account', async () => {
  const { call } = await startPublic({
    ...stubs,
    settings: { maxRolloutBytes: 0 },
    database: { datasets },
  })

  test('is refused on both routes with 429, when to ask again and what was used up', async () => {
    const dataset_id = 'questions'
    const ours = await call('POST', '/v1/train', { json: { model_name: 'tiny', dataset_id, method } })
    assert.deepEqual([ours.status, ours.json.code], [429, 'quota_exceeded'])
    assert.ok(Number(ours.headers['retry-after']) > 0)
    assert.match(ours.json.detail, /^This account has stored .* of rollouts, the most that it may store\./)
    const json = { model: 'tiny', training_file: file, method }
    const openai = await call('POST', '/openai/v1/fine_tuning/jobs', { json })
    assert.equal(openai.status, 429)
    assert.match(openai.json.error.message, /of rollouts, the most/)
  })
})
