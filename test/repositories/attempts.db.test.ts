// Slots and fences, on the real database: what keeps one job at one writer, and accounts from starving each other.
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, mock, suite, test } from 'node:test'
import type { FineTuneDependencies } from '../../activities/fine-tune.ts'
import { createJobActivities } from '../../activities/jobs.ts'
import { createWatchActivity } from '../../activities/watch-attempt.ts'
import type { EndState, RunRef, WatchOptions } from '../../src/compute/run.ts'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import type { PreparedData } from '../../src/domain/training-job.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createSandbox } from '../support/sandbox.ts'
import { connection, eventually } from '../support/stack.ts'

suite('attempts', () => {
  const database = connectDatabase(connection().databaseUrl, { poolSize: 4 })
  after(() => database.close())

  const sandbox = createSandbox(database)

  test('free slots go to the account with the fewest running attempts, then to the oldest', () =>
    sandbox(async (tx) => {
      const [busy, idle] = [await anAccount(tx), await anAccount(tx)]
      const ofBusy = [await openAttempt(tx, busy), await openAttempt(tx, busy), await openAttempt(tx, busy)]
      const ofIdle = [await openAttempt(tx, idle)]
      const granted = async () => {
        const all = [...ofBusy, ...ofIdle]
        const now = await Promise.all(all.map(({ jobId, number }) => tx.attempts.get({ jobId, number })))
        return now.flatMap(({ grantedAt }, index) => (grantedAt ? [index] : []))
      }
      await tx.attempts.grantSlots(2)
      assert.deepEqual(await granted(), [0, 3])
      await tx.attempts.grantSlots(2)
      assert.deepEqual(await granted(), [0, 3])
      await tx.attempts.release(
        { jobId: ofBusy[0]?.jobId ?? 0, number: 1 },
        { cause: 'finished', exitCode: 0, message: '' },
      )
      await tx.attempts.grantSlots(2)
      assert.deepEqual(await granted(), [0, 1, 3])
    }))

  test('a workflow is told of its slot with the grant, once, unless it asked for it or nothing is heard of the attempt', () =>
    sandbox(async (tx) => {
      const account = await anAccount(tx)
      const [first, second] = [await openAttempt(tx, account), await openAttempt(tx, account)]
      const told = async () => {
        const messages = await tx.outbox.claim(1000)
        for (const { id } of messages) await tx.outbox.markDelivered(id)
        return messages.flatMap((message) =>
          message.kind === 'slot' ? [[message.workflowId, message.generation, message.payload.attempt]] : [],
        )
      }
      assert.deepEqual(await told(), [])
      await tx.attempts.grantSlots(1)
      await tx.attempts.grantSlots(1)
      assert.deepEqual(await told(), [[fineTuneWorkflowId(first.jobId), 1, 1]])
      await tx.attempts.release({ jobId: first.jobId, number: 1 }, { cause: 'killed', exitCode: 137, message: '' })
      await tx.attempts.grantSlots(1, second.jobId)
      assert.deepEqual(await told(), [])
      await tx.attempts.resendSlotSignals()
      assert.deepEqual(await told(), [])
      await tx.attempts.resendSlotSignals(0)
      assert.deepEqual(await told(), [[fineTuneWorkflowId(second.jobId), 1, 1]])
    }))

  test('a slot is wanted by another job only if it would get it: an older one of the account, or of an account with less', () =>
    sandbox(async (tx) => {
      const [mine, others] = [await anAccount(tx), await anAccount(tx)]
      const running = await openAttempt(tx, mine)
      await tx.attempts.grantSlots(null)
      const wanted = () => tx.attempts.othersWait({ jobId: running.jobId, number: 1 })
      assert.equal(await wanted(), false)
      const waiting = await openAttempt(tx, others)
      assert.equal(await wanted(), true)
      await tx.attempts.fence({ jobId: waiting.jobId, number: 1 })
      assert.equal(await wanted(), false)
      await openAttempt(tx, mine)
      assert.equal(await wanted(), true)
    }))

  test('the first reason to end an attempt stands; its end confirms it', () =>
    sandbox(async (tx) => {
      const { jobId } = await openAttempt(tx, await anAccount(tx))
      const position = { jobId, number: 1 }
      await tx.attempts.recordEnd(position, { cause: 'stalled', exitCode: null, message: 'Silent.' })
      await tx.attempts.recordEnd(position, { cause: 'killed', exitCode: 137, message: 'Killed.' })
      const attempt = await tx.attempts.get(position)
      assert.deepEqual([attempt.cause, attempt.message, attempt.releasedAt], ['stalled', 'Silent.', null])
    }))

  test('a queued job says what the cluster says; how its run ended is written down before the release asks', () =>
    sandbox(async (tx) => {
      const { jobId } = await openAttempt(tx, await anAccount(tx))
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
        settings: { limits: { timeSliceMs: 60_000, stallMs: 60_000, maxJobMs: null } },
      } as unknown as FineTuneDependencies)
      await new MockActivityEnvironment().run(watchAttempt, { jobId, attempt: 1 })
      const { status, statusReason, statusMessage } = await tx.trainingJobs.get(jobId)
      assert.deepEqual([status, statusReason, statusMessage], ['QUEUED', 'unschedulable', 'No node has 8 GPUs.'])
      const { cause, message, releasedAt } = await tx.attempts.get({ jobId, number: 1 })
      assert.deepEqual([cause, message, releasedAt], ['image_unavailable', 'No such image.', null])
    }))

  test('a claim belongs to one process; a repeat of it gets the same answer', () =>
    sandbox(async (tx) => {
      const { tokenHash } = await openAttempt(tx, await anAccount(tx))
      assert.equal((await tx.attempts.claim(tokenHash, 'one'))?.first, true)
      assert.equal((await tx.attempts.claim(tokenHash, 'one'))?.first, false)
      assert.equal(await tx.attempts.claim(tokenHash, 'two'), null)
      assert.ok(await tx.attempts.holdUnfenced(tokenHash))
    }))

  test('a newer attempt, a release and a cancel each refuse the older one', () =>
    sandbox(async (tx) => {
      const account = await anAccount(tx)
      const first = await openAttempt(tx, account)
      await tx.attempts.claim(first.tokenHash, 'one')
      const second = await openAttempt(tx, account, 2, first.jobId)
      assert.equal(await tx.attempts.holdUnfenced(first.tokenHash), null)
      assert.equal(await tx.attempts.claim(first.tokenHash, 'one'), null)
      await tx.trainingJobs.requestCancel(second.jobId, 'test')
      assert.equal(await tx.attempts.claim(second.tokenHash, 'one'), null)

      const third = await openAttempt(tx, account)
      await tx.attempts.claim(third.tokenHash, 'one')
      await tx.attempts.release({ jobId: third.jobId, number: 1 }, { cause: 'killed', exitCode: 137, message: '' })
      assert.equal(await tx.attempts.holdUnfenced(third.tokenHash), null)
    }))

  test('a job moves only along its table, and an accepted cancel leaves one way', () =>
    sandbox(async (tx) => {
      const { id: jobId } = await openJob(tx, await anAccount(tx))
      const move = (to: 'QUEUED' | 'COMPLETED' | 'CANCELLED' | 'LOADING DATA', generation = 1) =>
        tx.trainingJobs.move({ jobId, generation, to, reason: null, message: null, actor: 'test' })
      assert.equal(await move('COMPLETED'), 'refused')
      assert.equal(await move('QUEUED', 2), 'refused')
      assert.equal(await move('QUEUED'), 'moved')
      assert.equal(await move('QUEUED'), 'already')
      assert.equal(await tx.trainingJobs.requestCancel(jobId, 'test'), true)
      assert.equal(await tx.trainingJobs.requestCancel(jobId, 'test'), false)
      assert.equal(await move('LOADING DATA'), 'cancelling')
      assert.equal(await move('CANCELLED'), 'moved')
    }))

  test('an ended job goes back to the queue by a resume alone', () =>
    sandbox(async (tx) => {
      const { id: jobId } = await openJob(tx, await anAccount(tx))
      const move = { jobId, generation: 1, reason: null, message: null }
      assert.equal(await tx.trainingJobs.move({ ...move, to: 'FAILED', actor: 'test' }), 'moved')
      await tx.trainingJobs.queue(move)
      assert.equal((await tx.trainingJobs.get(jobId)).status, 'FAILED')
      assert.equal((await tx.trainingJobs.resume(jobId, 'test')).status, 'QUEUED')
    }))

  test('what a program was told at its claim stays, however late a launch that was tried again comes', () =>
    sandbox(async (tx) => {
      const { jobId, tokenHash } = await openAttempt(tx, await anAccount(tx))
      await tx.attempts.setStart({ jobId, number: 1 }, { artifactId: null, step: 10, at: null })
      await tx.attempts.claim(tokenHash, 'one')
      await tx.attempts.setStart({ jobId, number: 1 }, { artifactId: null, step: 20, at: null })
      assert.equal((await tx.attempts.get({ jobId, number: 1 })).fromStep, 10)

      const file = { key: 'first', sizeBytes: 1, sha256: 'h', rowCount: 1 }
      const first: PreparedData = { train: file, evaluation: { ...file, split: 'train' } }
      await tx.trainingJobs.setPreparedData({ id: jobId, generation: 1 }, first)
      await tx.trainingJobs.setPreparedData(
        { id: jobId, generation: 1 },
        { ...first, train: { ...file, key: 'second' } },
      )
      assert.deepEqual((await tx.trainingJobs.get(jobId)).preparedData, first)
    }))

  test('a phase of an older attempt moves nothing; an ending that a cancel refuses names no model', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { jobId } = await openAttempt(tx, accountId)
      await openAttempt(tx, accountId, 2, jobId)
      await tx.trainingJobs.queue({ jobId, generation: 1, reason: null, message: null })
      const activities = createJobActivities({
        database: { ...database, ...tx, transaction: (work) => work(tx) },
        datasets: { prepare: () => assert.fail('nothing is prepared here') },
        storage: {} as never,
      })
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

  test('jobs that Temporal knows are read in pages, each once', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const ids = [await openJob(tx, accountId), await openJob(tx, accountId), await openJob(tx, accountId)].map(
        ({ id }) => id,
      )
      const listed = async () => {
        const found: number[] = []
        for await (const page of tx.reaper.deliveredJobs(2)) {
          assert.ok(page.length <= 2)
          found.push(...page.map(({ jobId }) => jobId))
        }
        return found.filter((id) => ids.includes(id))
      }
      assert.deepEqual(await listed(), [])
      for (const { id } of await tx.outbox.claim(1000)) await tx.outbox.markDelivered(id)
      assert.deepEqual(await listed(), ids)
    }))

  test('messages of one workflow are handed out one at a time, in order', () =>
    sandbox(async (tx) => {
      const workflowId = `test-${randomUUID()}`
      const ours = async () => (await tx.outbox.claim(1000)).filter((message) => message.workflowId === workflowId)
      for (const attempt of [1, 2])
        await tx.outbox.add({ workflowId, kind: 'phase', generation: 1, payload: { attempt, phase: 'LOADING DATA' } })
      const [first, ...more] = await ours()
      assert.ok(first?.kind === 'phase' && first.payload.attempt === 1 && more.length === 0)
      // What waits behind it is not due before it; those of other tests come and go.
      await eventually(async () => {
        assert.deepEqual(await ours(), [])
        return ((await tx.outbox.dueInMs()) ?? 0) > 10_000
      })
      await tx.outbox.markDelivered(first.id)
      const [second] = await ours()
      assert.ok(second?.kind === 'phase' && second.payload.attempt === 2)
    }))
})
