import { ApplicationFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRowPreparation, type PrepareDependencies } from '../../activities/prepare-rows.ts'
import type { DataOfJob } from '../../src/datasets/prepare-data.ts'
import { rowReader } from '../../src/domain/dataset-report.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import type { PreparedData, TrainingJob } from '../../src/domain/training-job.ts'

type World = {
  prepare?: (jobId: number) => Promise<unknown>
  report?: object | null
  storedBytes?: number
  reader?: number
  unreadFields?: object[]
  /** The rows that a job with skip_bad_rows leaves out. */
  badRowCount?: number
  learned?: PreparedData['learned'] | null
  tokenLength?: object
}

/** A store and tables in memory with jobs of one account on one upload. */
function world(given: World = {}) {
  const {
    prepare,
    storedBytes = 99,
    reader = rowReader,
    unreadFields = [],
    badRowCount = 0,
    learned,
    tokenLength,
  } = given
  let { report = null } = given
  const kept = new Map<number, PreparedData>()
  const stored = new Map([['upload', { etag: 'e', sizeBytes: 9 }]])
  const removed = new Set<number>()
  let checks = 0
  const rows = (jobId: number, sha256 = 'h') => {
    const file = { key: `jobs/${jobId}/data/rows`, sizeBytes: 1, sha256, rowCount: 1 }
    stored.set(file.key, { etag: 'x', sizeBytes: 1 })
    const evaluation = { ...file, split: 'train' as const }
    const skipped = badRowCount > 0 && { skipped: { ...file, rowCount: badRowCount } }
    const said = learned === undefined ? { form: 'pairs' as const, systemMessage: null } : learned
    return { train: file, evaluation, sourceEtag: 'e', reader, ...skipped, ...(said && { learned: said }) }
  }
  const badRowGroups =
    badRowCount > 0 ? [{ field: 'output', reason: 'is empty', rowCount: badRowCount, lines: [3] }] : []
  const found = {
    etag: 'e',
    reader,
    rowCount: 9,
    badRowCount,
    badRowGroups,
    unreadRest: null,
    unreadFields,
    tokenLength,
  }
  const saved: [versionId: string, report: object][] = []
  const notes: [jobId: number, message: string][] = []
  const jobEvents = {
    add: async (jobId: number, ...events: { message: string }[]) =>
      void notes.push(...events.map(({ message }): [number, string] => [jobId, message])),
  }
  const keep = async ({ id }: { id: number }, data: PreparedData) => Boolean(kept.set(id, data))
  const trainingJobs = {
    setPreparedData: keep,
    movePreparedData: keep,
    findPreparedData: async () => {
      const [owner, prepared] = [...kept].find(([id, { train }]) => train.key.startsWith(`jobs/${id}/`)) ?? []
      return owner !== undefined && prepared && !removed.has(owner) ? { owner, prepared } : null
    },
    holdPreparedData: async (id: number) => !removed.has(id),
  }
  const deps = {
    settings: { maxStoredBytes: 100 },
    database: {
      accounts: { storedBytes: async () => storedBytes },
      datasets: {
        report: async () => report,
        columns: async () => null,
        saveReport: async (id: string, made: object) => {
          report = made
          saved.push([id, made])
        },
      },
      trainingJobs,
      transaction: <T>(work: (tx: object) => Promise<T>) => work({ trainingJobs, jobEvents }),
    },
    storage: { stat: async (key: string) => stored.get(key) ?? null },
    datasets: {
      prepare: async ({ jobId, spec }: Pick<DataOfJob, 'jobId' | 'spec'>) => {
        checks++
        await prepare?.(jobId)
        const report = { ...found, checkedAt: new Date().toISOString() }
        const reports = spec.sources?.map(({ datasetId: set }) => ({ ...report, set })) ?? [report]
        return { prepared: rows(jobId), reports, evaluation: null }
      },
    },
  } as unknown as PrepareDependencies
  const prepareRows = createRowPreparation(deps)
  const run = (id: number, more: object = {}) => {
    const spec = { dataKey: 'upload', evaluationKey: null }
    const job = { id, generation: 1, accountId: 'a', datasetVersionId: 'v', preparedData: null, spec, ...more }
    const { signal } = new AbortController()
    return new MockActivityEnvironment().run(() => prepareRows(job as unknown as TrainingJob, signal))
  }
  return { run, kept, stored, removed, rows, notes, saved, checks: () => checks }
}

test('jobs on the same upload share a single check and a single copy of its rows', async () => {
  const { run, kept, checks } = world({ prepare: () => new Promise((resolve) => setTimeout(resolve, 5)) })
  await Promise.all([1, 2, 3, 4].map((id) => run(id)))
  await run(5)
  assert.equal(checks(), 1)
  const keys = [1, 2, 3, 4, 5].map((id) => kept.get(id)?.train.key)
  assert.deepEqual(new Set(keys).size, 1)
})

test('rows of another upload, rows that are gone, and evaluation rows of the caller are not shared', async () => {
  const { run, kept, stored, removed, checks } = world()
  await run(1)
  stored.delete('jobs/1/data/rows')
  await run(2)
  assert.equal(kept.get(2)?.train.key, 'jobs/2/data/rows')
  removed.add(1).add(2)
  await run(3)
  await run(4, { spec: { dataKey: 'upload', evaluationKey: 'own' } })
  assert.deepEqual([kept.get(3)?.train.key, kept.get(4)?.train.key], ['jobs/3/data/rows', 'jobs/4/data/rows'])
  assert.equal(checks(), 4)
})

test('rows of a release that did not note their form are not shared', async () => {
  const { run, checks } = world({ learned: null })
  await run(1)
  await run(2)
  assert.equal(checks(), 2)
})

test('a job whose rows are gone gets the same rows again, or none', async () => {
  const { run, kept, rows, stored } = world()
  const before = rows(1)
  stored.delete(before.train.key)
  await run(1, { preparedData: before })
  assert.equal(kept.get(1)?.train.sha256, 'h')
  const other = rows(2, 'other')
  stored.delete(other.train.key)
  await assert.rejects(run(2, { preparedData: other }), (error) => {
    return (
      error instanceof ApplicationFailure && error.type === 'DatasetInvalid' && /rows of this job/.test(error.message)
    )
  })
})

test('an upload that was just found bad is not checked again', async () => {
  const badRowGroups = [{ field: 'output', reason: 'is missing', rowCount: 1, lines: [3] }]
  const report = {
    etag: 'e',
    reader: rowReader,
    rowCount: 3,
    badRowCount: 1,
    badRowGroups,
    unreadRest: null,
    checkedAt: new Date().toISOString(),
  }
  const { run, checks } = world({ report })
  await assert.rejects(run(1), /line 3: output: is missing/)
  assert.equal(checks(), 0)
})

test('an account without room gets no further copy of rows', async () => {
  const { run, checks } = world({ storedBytes: 100 })
  await assert.rejects(run(1), /This account has stored 100 bytes of data sets and models, the most that it may store/)
  assert.equal(checks(), 0)
})

test('an account may keep only a few preparations waiting; the others come back later', async () => {
  const gate = Promise.withResolvers<void>()
  const { run } = world({ prepare: () => gate.promise })
  const waiting = Array.from({ length: 16 }, (_, id) => run(id))
  await assert.rejects(run(16), (failure) => {
    assert.ok(failure instanceof ApplicationFailure && !failure.nonRetryable)
    assert.equal(failure.type, 'WaitsForTurn')
    return Number(failure.nextRetryDelay) >= 2500
  })
  gate.resolve()
  await Promise.all(waiting)
  await run(17)
})

test('every job on rows with fields that training does not read is told so once', async () => {
  const unreadFields = [{ field: 'category', rows: 3, line: 2 }]
  const { run, kept, notes, checks } = world({ unreadFields })
  await run(1)
  await run(2)
  await run(1, { preparedData: kept.get(1) })
  const said = /^The training data has fields that training does not read: "category" \(3 rows, first in line 2\)\./
  assert.deepEqual(
    notes.map(([jobId, message]) => [jobId, said.test(message)]),
    [
      [1, true],
      [2, true],
    ],
  )
  assert.equal(checks(), 1)
})

test('rows and reports of a release that read rows in another way are not used again', async () => {
  const { run, checks } = world({ reader: rowReader - 1 })
  await run(1)
  await run(2)
  assert.equal(checks(), 2)
})

test('a job that leaves out bad rows is told which, and shares them only with jobs that leave them out too', async () => {
  const { run, kept, notes, checks } = world({ badRowCount: 2 })
  const skipping = { spec: { dataKey: 'upload', evaluationKey: null, skipBadRows: true } }
  await run(1, skipping)
  await run(2, skipping)
  assert.deepEqual([kept.get(2)?.skipped?.key, checks()], ['jobs/1/data/rows', 1])
  const said = '2 of 9 rows are bad and left out: line 3: output: is empty (2 rows).'
  assert.deepEqual(notes, [
    [1, said],
    [2, said],
  ])
  await assert.rejects(
    run(3),
    /2 of 9 rows are bad: line 3: output: is empty \(2 rows\)\. Mend the file, or leave the bad rows out \(skip_bad_rows\) to train on the other 7 rows\./,
  )
})

test('a job on several data sets keeps the report on each with its version, names each, and takes no rows of other jobs', async () => {
  const { run, saved, notes, checks } = world({ badRowCount: 1 })
  const set = (name: string) => ({ datasetId: name, versionId: `v-${name}`, dataKey: 'upload', weight: 1 })
  const spec = { dataKey: 'upload', evaluationKey: null, skipBadRows: true }
  await run(1, { spec })
  await run(2, { spec: { ...spec, sources: [set('a'), set('b')] }, datasetVersionId: 'v-a' })
  assert.equal(checks(), 2)
  const ofSets = saved.slice(1)
  assert.deepEqual(
    ofSets.map(([id, report]) => [id, 'set' in report]),
    [
      ['v-a', false],
      ['v-b', false],
    ],
  )
  const said = notes.filter(([jobId]) => jobId === 2).map(([, message]) => message)
  assert.deepEqual(said, [
    '1 of 9 rows is bad and left out: a, line 3: output: is empty.',
    '1 of 9 rows is bad and left out: b, line 3: output: is empty.',
  ])
})

test('a job whose longest row does not fit into the memory of its GPU ends before it takes one', async () => {
  const { run, kept, rows, stored } = world({
    tokenLength: { tokenizer: 'llama-8b', input: { max: 8000 }, output: { max: 192 } },
  })
  const shape = {
    ...{ hiddenSize: 4096, layers: 32, intermediateSize: 14_336, queryWidth: 4096, keyWidth: 1024 },
    ...{ vocabularySize: 128_256, sharesEmbeddings: false },
  }
  const baseModel = { name: 'llama-8b', contextLength: 8192, resources: { gpuCount: 1, gpuMemoryGiB: 24 } }
  const args = { ...documentedDefaults, max_length: 8192 }
  const spec = { dataKey: 'upload', evaluationKey: null, baseModel, args, gpus: null, nodes: 1 }
  await assert.rejects(run(1, { spec: { ...spec, shape } }), {
    type: 'DoesNotFit',
    message: /^This training needs about 50 GiB .* Set max_length to 1024\./,
  })
  assert.equal(kept.size, 0)
  // A forced job has no shape.
  await run(2, { spec })
  assert.equal(kept.size, 1)
  // This one has trained before, and its rows are gone.
  const preparedData = rows(3)
  stored.delete(preparedData.train.key)
  await run(3, { spec: { ...spec, shape }, preparedData })
})
