import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { documentedDefaults } from '../../../src/domain/training-args.ts'
import type { Ctx } from '../../../src/services/context.ts'
import { requireFit } from '../../../src/services/training-jobs/require-fit.ts'

const shape = {
  ...{ hiddenSize: 4096, layers: 32, intermediateSize: 14_336, queryWidth: 4096, keyWidth: 1024 },
  ...{ vocabularySize: 128_256, sharesEmbeddings: false },
}
const entry = {
  ...{ name: 'llama-8b', contextLength: 8192, shape },
  resources: { gpuCount: 1, gpuMemoryGiB: 24 },
} as unknown as CatalogueEntry

const report = { etag: 'e', tokenLength: { tokenizer: 'llama-8b', input: { max: 8000 }, output: { max: 192 } } }
const ctxWith = (etag: string) =>
  ({
    accountId: 'a',
    deps: {
      database: { datasets: { report: () => Promise.resolve(report) } },
      storage: { stat: () => Promise.resolve({ etag }) },
    },
  }) as unknown as Ctx

const asked = {
  ...{ entry, method: null, gpus: null, nodes: 1, isForced: false },
  args: { ...documentedDefaults, lora_alpha: 64, max_length: 8192 },
}
const uploads = [{ id: 'v', uploadKey: 'uploads/a/rows/v' }]

test('refuses a training whose longest known row does not fit, with a code of its own', async () => {
  const message =
    'This training needs about 50 GiB and a GPU of llama-8b has 24. Set max_length to 1024. "force": true starts it all the same.'
  await assert.rejects(requireFit(ctxWith('e'), asked, uploads), {
    ...{ code: 'does_not_fit', message },
    issues: [{ path: 'finetune_args', message }],
  })
})

test('accepts rows that no check has read, and a training that is forced', async () => {
  await requireFit(ctxWith('another'), asked, uploads)
  await requireFit(ctxWith('e'), asked, null)
  await requireFit(ctxWith('e'), asked, [{ id: 'v', uploadKey: 'uploads/another-account/rows/v' }])
  await requireFit(ctxWith('e'), { ...asked, isForced: true }, uploads)
})
