import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAttemptActivities } from '../../activities/attempts.ts'
import type { FineTuneDependencies } from '../../activities/fine-tune-dependencies.ts'
import { createRowPreparation } from '../../activities/prepare-rows.ts'
import { ComputeError } from '../../src/compute/errors.ts'

const file = { key: 'k', sizeBytes: 1, sha256: 'h' }
const job = {
  id: 1,
  generation: 2,
  accountId: 'a',
  specHash: 's',
  preparedData: { train: file, evaluation: file },
  spec: { baseModel: { name: 'm', resources: { cpuCount: 1, memoryGiB: 1, gpuCount: 0 } } },
}

type Launch = {
  mode: string
  storedHash: string
  launching: () => Promise<object>
  grantedAt?: number | null
  /** The job begins from a tuned model, which may be gone. */
  parent?: 'there' | 'deleted'
  hasCheckpoint?: boolean
}

/** A launch of an attempt, with what it noted of attempts and jobs. */
function launch({ mode, storedHash, launching, grantedAt = 1, parent, hasCheckpoint = true }: Launch) {
  const notes: unknown[][] = []
  const note =
    (what: string) =>
    async (...details: unknown[]) =>
      void notes.push([what, ...details])
  const attempt = {
    id: 'i',
    number: 3,
    generation: 2,
    mode,
    runName: 'ft-1-a3',
    claimedAt: null,
    fencedAt: null,
    grantedAt,
  }
  const startFrom = { modelName: 'parent', jobId: 0, files: [file] }
  const asked = parent ? { ...job, spec: { ...job.spec, startFrom } } : job
  const model = { id: 'x', kind: 'model', step: 9, specHash: 's', files: [file], createdAt: null }
  const deps = {
    database: {
      transaction: async () => 0,
      accounts: { find: async () => null },
      installation: { maintenance: async () => null },
      trainingJobs: { get: async () => asked, explain: note('explained') },
      attempts: {
        get: async () => attempt,
        setStart: note('start'),
        setRunUid: note('uid'),
        recordEnd: note('end'),
      },
      artifacts: {
        listUsable: async () => (hasCheckpoint ? [model] : []),
        markVerified: note('verified'),
        markCorrupt: note('corrupt'),
      },
      models: { find: async () => (parent === 'there' ? {} : null) },
      jobEvents: { add: async () => undefined },
    },
    trainers: { capacity: () => ({ slots: 1 }), launch: launching },
    storage: {
      stat: async () => ({ sizeBytes: 1 }),
      sha256: async () => ({ sizeBytes: 1, sha256: storedHash }),
    },
    settings: { secret: 'secret', internalUrl: 'http://internal', terminationGraceMs: 1 },
  } as unknown as FineTuneDependencies
  const { launchAttempt } = createAttemptActivities(deps, createRowPreparation(deps))
  const done = new MockActivityEnvironment().run(launchAttempt, { jobId: 1, attempt: 3 })
  return { done, notes }
}

test('an evaluation whose model has rotted is not launched, and is no fault of its program', async () => {
  const { done, notes } = launch({ mode: 'evaluate', storedHash: 'other', launching: () => assert.fail('launched') })
  await done
  assert.deepEqual(
    notes.map(([what]) => what),
    ['corrupt', 'end'],
  )
  assert.partialDeepStrictEqual(notes[1], ['end', { jobId: 1, number: 3 }, { cause: 'control_plane', exitCode: null }])
})

test('launches an evaluation of a complete model', async () => {
  const { done, notes } = launch({ mode: 'evaluate', storedHash: 'h', launching: async () => ({ uid: 'u' }) })
  await done
  assert.deepEqual(
    notes.map(([what]) => what),
    ['verified', 'start', 'uid'],
  )
})

test('a launch that the cluster refuses is told to the job, and tried again', async () => {
  const refusal = new ComputeError('invalid', 'No such pods here.')
  const { done, notes } = launch({ mode: 'train', storedHash: 'h', launching: () => Promise.reject(refusal) })
  await assert.rejects(done, { message: 'No such pods here.' })
  assert.deepEqual(notes.at(-1), ['explained', 1, 2, 'QUEUED', 'launch_refused', 'No such pods here.'])
})

test('an attempt without a slot reports why it waits and occupies no worker', async () => {
  const launching = () => assert.fail('launched')
  const { done, notes } = launch({ mode: 'train', storedHash: 'h', launching, grantedAt: null })
  assert.equal(await done, 'waiting')
  const message = 'Waiting for a free slot: the only one is in use.'
  assert.deepEqual(notes, [['explained', 1, 2, 'QUEUED', 'waiting_for_slot', message]])
})

test('an attempt from a deleted model ends with a sentence, unless a checkpoint exists', async () => {
  const begin = (more: Pick<Launch, 'parent' | 'hasCheckpoint'>) =>
    launch({ mode: 'train', storedHash: 'h', launching: async () => ({ uid: 'u' }), ...more })
  const lost = begin({ parent: 'deleted', hasCheckpoint: false })
  await lost.done
  assert.equal(lost.notes.length, 1)
  assert.partialDeepStrictEqual(lost.notes[0], ['end', { jobId: 1, number: 3 }, { cause: 'model_unavailable' }])
  assert.match(JSON.stringify(lost.notes[0]), /The tuned model parent, which this job begins from, was deleted\./)
  for (const more of [{ parent: 'there', hasCheckpoint: false }, { parent: 'deleted' }] as const) {
    const { done, notes } = begin(more)
    await done
    assert.deepEqual(notes.at(-1), ['uid', { jobId: 1, number: 3 }, 'u'], JSON.stringify(more))
  }
})
