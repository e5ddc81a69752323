// A dry run checks what the submit and the job would check: also the evaluation rows of the request, and the open jobs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { rowReader } from '../../../src/domain/dataset-report.ts'
import { estimateTrainingJob } from '../../../src/services/training-jobs/estimate.ts'
import { contextOf } from '../../support/service-context.ts'

const catalogue = parseCatalogue({
  models: [
    { name: 'tiny', task: 'completion', engine: 'transformers', source: { path: 'tiny' }, contextLength: 1024 },
    { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
  ],
})
const good = { etag: '', reader: rowReader, sizeBytes: 9, rowCount: 4, badRowCount: 0, badRows: [], tokenLength: null }
const bad = { ...good, badRowCount: 1, badRows: [{ line: 2, field: 'input', reason: 'is missing' }] }
const rows = (key: string) => ({ versionId: key, key, rowCount: 4, sizeBytes: 9, kept: 'no' as const })

const estimate = (reports: Record<string, object>, openJobs = 0) => {
  const deps = {
    catalogue,
    settings: { maxGpus: 8, maxNodes: 1, maxOpenJobs: 3 },
    database: {
      accounts: { hasOpenJobs: (_id: string, count: number) => Promise.resolve(openJobs >= count) },
      jobDetails: { pastJobs: () => Promise.resolve([]) },
    },
    datasets: { check: ({ key }: { key: string }) => Promise.resolve(reports[key]) },
  }
  const ctx = contextOf({ deps, accountId: 'a' })
  const data = { rows: rows('train'), evaluationRows: rows('evaluation') }
  const asked = { modelName: 'tiny', finetuneArgs: {}, gpuConfig: {}, isPublic: false, customModelName: null }
  return estimateTrainingJob({ ctx, input: { ...asked, ...data } })
}

test('a dry run refuses bad rows, and says whether they train or evaluate', async () => {
  assert.equal((await estimate({ train: good, evaluation: good })).rows, 4)
  const refusal = (path: string, name: string) => ({
    code: 'invalid_input',
    issues: [{ path, message: `The ${name} data cannot be used: 1 of 4 rows are bad: line 2: input: is missing.` }],
  })
  await assert.rejects(estimate({ train: bad, evaluation: good }), refusal('data', 'training'))
  await assert.rejects(estimate({ train: good, evaluation: bad }), refusal('eval_data', 'evaluation'))
})

test('a dry run is refused where the account may open no further job', async () => {
  const reports = { train: good, evaluation: good }
  assert.equal((await estimate(reports, 2)).rows, 4)
  await assert.rejects(estimate(reports, 3), { code: 'quota_exceeded' })
})
