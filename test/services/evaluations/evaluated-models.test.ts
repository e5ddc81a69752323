import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import type { Learned } from '../../../src/domain/learned.ts'
import { findEvaluated, type EvaluationForm } from '../../../src/services/evaluations/evaluated-models.ts'
import { contextOf } from '../../support/service-context.ts'

const completion = { task: 'completion', engine: 'transformers', contextLength: 1024 }
const catalogue = parseCatalogue({
  models: [
    { ...completion, name: 'base', source: { path: 'base' } },
    { ...completion, name: 'plain', source: { path: 'plain' }, chatTemplate: false },
    { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
  ],
})
const learnedBy: Record<string, Learned | null> = {
  chats: { form: 'conversations', systemMessage: 'Be brief.' },
  pairs: { form: 'pairs', systemMessage: null },
  old: null,
}

/** By name: the system message of its chats, or null for plain prompts. */
async function asked(names: string[], form: EvaluationForm = {}) {
  const find = (_account: string, name: string) => {
    const learned = learnedBy[name]
    return Promise.resolve(learned === undefined ? null : { name, baseModel: 'base', jobId: 1, files: [], learned })
  }
  const job = { spec: { args: {} } }
  const database = { models: { find }, trainingJobs: { find: () => Promise.resolve(job) } }
  const ctx = contextOf({ deps: { catalogue, database }, accountId: 'a' })
  const found = await findEvaluated(ctx, names, form)
  return found.map(({ chat }) => chat?.system ?? null)
}

test('asks each model in the form that it learned, and a base as a model beside it that was tuned from it', async () => {
  assert.deepEqual(await asked(['base', 'pairs', 'old']), [null, null, null])
  assert.deepEqual(await asked(['base', 'chats', 'pairs', 'plain']), ['Be brief.', 'Be brief.', null, null])
})

test('asks all models as the request says', async () => {
  assert.deepEqual(await asked(['base', 'chats', 'pairs'], { asChat: false }), [null, null, null])
  assert.deepEqual(await asked(['base', 'chats', 'pairs'], { asChat: true }), ['Be brief.', 'Be brief.', ''])
  assert.deepEqual(await asked(['base', 'pairs'], { asChat: true, system: 'Rhyme.' }), ['Rhyme.', 'Rhyme.'])
  assert.deepEqual(await asked(['base', 'chats'], { system: '' }), ['', ''])
  await assert.rejects(asked(['base', 'plain'], { asChat: true }), /plain has no chat template/)
})
