// Activities on the real database, and clocks of processes that differ from it. test/repositories/conformance has the rest.
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mock, suite, test } from 'node:test'
import type { FineTuneDependencies } from '../../activities/fine-tune-dependencies.ts'
import { createJobActivities } from '../../activities/jobs.ts'
import { createWatchActivity } from '../../activities/watch-attempt.ts'
import type { EndState, RunRef, WatchOptions } from '../../src/compute/run.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('attempts', () => {
  const database = openDatabase(4)

  const sandbox = createSandbox(database)

  test("a queued job shows the cluster's reason; the end of its run is recorded before the release asks", () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const args = { max_steps: 10, num_train_epochs: null, batch_size: 1, gradient_accumulation_steps: 1 }
      const { id: jobId } = await openJob(tx, accountId, { args } as unknown as TrainingSpec)
      await openAttempt(tx, accountId, 1, jobId)
      await tx.attempts.setRunUid({ jobId, number: 1 }, 'uid')
      await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
      const end = { exitCode: null, signal: null, reason: 'image_unavailable', message: 'No such image.' } as const
      const { watchAttempt } = createWatchActivity({
        database: tx,
        trainers: {
          watch: (_run: RunRef, { onState }: WatchOptions): Promise<EndState> => {
            onState?.({ state: 'pending', reason: 'unschedulable', message: 'No node has 8 GPUs.' })
            return Promise.resolve({ state: 'failed', uid: 'uid', ...end })
          },
        },
        settings: { attemptLimits: { timeSliceMs: 60_000, stallMs: 60_000, maxJobMs: null } },
      } as unknown as FineTuneDependencies)
      await new MockActivityEnvironment().run(watchAttempt, { jobId, attempt: 1 })
      const { status, statusReason, statusMessage } = await tx.trainingJobs.get(jobId)
      assert.deepEqual([status, statusReason, statusMessage], ['QUEUED', 'unschedulable', 'No node has 8 GPUs.'])
      const { cause, message, releasedAt } = await tx.attempts.get({ jobId, number: 1 })
      assert.deepEqual([cause, message, releasedAt], ['image_unavailable', 'No such image.', null])
    }))

  test('a phase of an older attempt moves nothing; an ending that a cancel refuses names no model', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { jobId } = await openAttempt(tx, accountId)
      await openAttempt(tx, accountId, 2, jobId)
      await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
      const activities = createJobActivities(
        { database: { ...database, ...tx, transaction: (work) => work(tx) } },
        () => assert.fail('nothing is prepared here'),
      )
      const ofJob = { jobId, generation: 1 }
      assert.equal(await activities.recordPhase({ ...ofJob, attempt: 1, phase: 'SAVING MODEL' }), 'QUEUED')
      assert.equal(
        await activities.recordPhase({ ...ofJob, attempt: 2, phase: 'EVALUATING MODEL' }),
        'EVALUATING MODEL',
      )

      const artifactId = randomUUID()
      const artifact = { id: artifactId, jobId, attempt: 2, kind: 'model', step: 1, specHash: 'h', files: [] } as const
      await tx.artifacts.create({ ...artifact, files: [] })
      await tx.trainingJobs.requestCancel(jobId, 'test')
      const ending = { status: 'COMPLETED', reason: null, message: null, modelName: randomUUID(), artifactId } as const
      assert.equal(await activities.finishJob({ ...ofJob, ...ending }), 'cancelling')
      assert.deepEqual(await tx.models.list(accountId, { after: null, limit: 10 }), [])
    }))

  for (const hours of [6, -6])
    test(`a process whose clock is ${hours} h ahead times nothing by it`, () =>
      sandbox(async (tx) => {
        const { jobId, number, tokenHash } = await openAttempt(tx, await anAccount(tx))
        await tx.attempts.claim(tokenHash, 'one')
        const before = await database.now()
        const isNow = (at: Date | null | undefined) => Math.abs((at?.getTime() ?? 0) - before.getTime()) < 60_000
        mock.timers.enable({ apis: ['Date'], now: before.getTime() + hours * 3_600_000 })
        try {
          await tx.attempts.update({ jobId, number }, { phase: 'TRAINING MODEL', lastStep: 10 })
          const artifactId = randomUUID()
          const artifact = { id: artifactId, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h' } as const
          await tx.artifacts.create({ ...artifact, files: [] })
          await tx.artifacts.commit(artifactId)
          const { silentForMs, ranForMs } = await tx.attempts.lookAt({ jobId, number })
          assert.ok(Math.abs(silentForMs ?? Infinity) < 60_000 && ranForMs < 60_000)
          const next = await openAttempt(tx, await anAccount(tx), 2, jobId)
          const saved = await tx.artifacts.find(jobId, artifactId)
          const { workingAt } = await tx.attempts.get({ jobId, number })
          for (const at of [next.createdAt, workingAt, saved?.createdAt, saved?.committedAt]) assert.ok(isNow(at))
          await tx.jobEvents.add(jobId, { kind: 'note', actor: 'api' })
          for (const { at } of await tx.jobEvents.list(jobId, { after: null, limit: 10 })) assert.ok(isNow(at))
        } finally {
          mock.timers.reset()
        }
      }))
})
