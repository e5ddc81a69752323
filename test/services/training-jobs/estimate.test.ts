// A dry run checks what the submit and the job would check: also the evaluation rows of the request, and the open jobs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { rowReader } from '../../../src/domain/dataset-report.ts'
import type { MethodRequest } from '../../../src/domain/method-request.ts'
import { estimateTrainingJob } from '../../../src/services/training-jobs/estimate.ts'
import { contextOf } from '../../support/service-context.ts'

const catalogue = parseCatalogue({
  models: [
    { name: 'tiny', task: 'completion', engine: 'transformers', source: { path: 'tiny' }, contextLength: 1024 },
    {
      name: 'plain',
      task: 'completion',
      engine: 'transformers',
      source: { path: 'plain' },
      contextLength: 1024,
      chatTemplate: false,
    },
    { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
  ],
})
const good = {
  etag: '',
  reader: rowReader,
  sizeBytes: 9,
  rowCount: 4,
  badRowCount: 0,
  badRowGroups: [],
  unreadFields: [],
  tokenLength: null,
}
const badRowGroups = [{ field: 'input', reason: 'is missing', rowCount: 1, lines: [2] }]
const bad = { ...good, badRowCount: 1, badRowGroups, unreadRest: null, duplicateCount: 0 }
const rows = (key: string) => ({ versionId: key, key, rowCount: 4, sizeBytes: 9, kept: 'no' as const })

const counted: string[] = []

type Asked = { openJobs?: number; skipBadRows?: boolean; modelName?: string; method?: MethodRequest }
const estimate = (
  reports: Record<string, object>,
  { openJobs = 0, skipBadRows = false, modelName = 'tiny', method }: Asked = {},
) => {
  const deps = {
    catalogue,
    settings: { maxGpus: 8, maxNodes: 1, maxOpenJobs: 3 },
    database: {
      accounts: { hasOpenJobs: (_id: string, count: number) => Promise.resolve(openJobs >= count) },
      jobDetails: { pastJobs: () => Promise.resolve([]) },
    },
    datasets: {
      check: ({ key, model }: { key: string; model: string }) => {
        counted.push(model)
        return Promise.resolve(reports[key])
      },
    },
  }
  const ctx = contextOf({ deps, accountId: 'a' })
  const data = { rows: rows('train'), evaluationRows: rows('evaluation') }
  const asked = {
    modelName,
    finetuneArgs: {},
    gpuConfig: {},
    isPublic: false,
    customModelName: null,
    skipBadRows,
    method,
  }
  return estimateTrainingJob({ ctx, input: { ...asked, ...data } })
}

test('a dry run refuses bad rows, and says whether they train or evaluate', async () => {
  assert.equal((await estimate({ train: good, evaluation: good })).rows, 4)
  const refusal = (path: string, name: string, advice = '') => ({
    code: 'invalid_input',
    issues: [
      { path, message: `The ${name} data cannot be used: 1 of 4 rows are bad: line 2: input: is missing.${advice}` },
    ],
  })
  const advice = ' Mend the file, or leave the bad rows out (skip_bad_rows) to train on the other 3 rows.'
  await assert.rejects(estimate({ train: bad, evaluation: good }), refusal('data', 'training', advice))
  await assert.rejects(estimate({ train: good, evaluation: bad }), refusal('eval_data', 'evaluation'))
})

test('a dry run counts and names the training rows that would be left out; evaluation rows never are', async () => {
  const told = await estimate({ train: bad, evaluation: good }, { skipBadRows: true })
  assert.deepEqual([told.rows, told.skippedRows], [4, 1])
  assert.deepEqual(told.warnings, ['1 of 4 rows is bad and left out: line 2: input: is missing.'])
  await assert.rejects(estimate({ train: good, evaluation: bad }, { skipBadRows: true }), /evaluation data cannot/)
})

test('a dry run of kto counts a pair as two rows, and refuses labels that are all alike', async () => {
  const method: MethodRequest = { type: 'kto', kto: { hyperparameters: { n_epochs: 1, batch_size: 2 } } }
  const stepsOf = async (judged: object) =>
    (await estimate({ train: { ...good, duplicateCount: 0, judged }, evaluation: good }, { method })).steps
  assert.equal(await stepsOf({ good: 3, bad: 1 }), 2)
  assert.equal(await stepsOf({ good: 4, bad: 4 }), 4)
  await assert.rejects(stepsOf({ good: 4, bad: 0 }), /all 4 rows are labelled true; KTO needs both/)
})

test('a dry run is refused where the account may open no further job', async () => {
  const reports = { train: good, evaluation: good }
  assert.equal((await estimate(reports, { openJobs: 2 })).rows, 4)
  await assert.rejects(estimate(reports, { openJobs: 3 }), { code: 'quota_exceeded' })
})

test('a dry run counts the tokens of the model that it names', async () => {
  counted.length = 0
  await estimate({ train: good, evaluation: good }, { modelName: 'plain' })
  assert.deepEqual(counted, ['plain', 'plain'])
})

test('a dry run refuses conversations for a model without a chat template', async () => {
  const reports = { train: { ...good, form: 'conversations' }, evaluation: good }
  assert.equal((await estimate(reports)).rows, 4)
  await assert.rejects(
    estimate(reports, { modelName: 'plain' }),
    /plain has no chat template, so it cannot learn conversations/,
  )
})
