import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { rowReader } from '../../../src/domain/dataset-report.ts'
import { getDatasetReport } from '../../../src/services/datasets/get-report.ts'
import { contextOf } from '../../support/service-context.ts'

const completion = { task: 'completion', engine: 'transformers', contextLength: 1024 }
const catalogue = parseCatalogue({
  models: [
    { ...completion, name: 'tiny', source: { path: 'tiny' } },
    { ...completion, name: 'chatty', aliases: ['other'], source: { path: 'chatty' } },
    { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
  ],
})

test('a report is made again only for a model whose tokens were not counted last', async () => {
  const counted: string[] = []
  let kept: object | null = null
  const deps = {
    catalogue,
    storage: { urlPrefix: '', stat: () => Promise.resolve({ etag: 'e', sizeBytes: 9 }) },
    datasets: {
      check: ({ model }: { model: string }) => {
        counted.push(model)
        return Promise.resolve({ etag: 'e', reader: rowReader, countedFor: model })
      },
    },
    database: {
      datasets: {
        newestVersion: () => Promise.resolve({ id: 'v', uploadKey: 'key', datasetId: 'set' }),
        report: () => Promise.resolve(kept),
        columns: () => Promise.resolve(null),
        noteSize: () => Promise.resolve(),
        saveReport: (_id: string, report: object) => Promise.resolve(void (kept = report)),
      },
    },
  }
  const ctx = contextOf({ deps, accountId: 'a' })
  const report = (modelName: string | null) =>
    getDatasetReport({ ctx, input: { datasetId: 'set', modelName, method: null } })
  for (const name of [null, null, 'tiny', 'other', null, 'chatty', 'tiny']) await report(name)
  assert.deepEqual(counted, ['tiny', 'chatty', 'tiny'])
})
