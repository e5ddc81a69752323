// Moves of a job, its events and steps, and what the reaper asks of it.
import assert from 'node:assert/strict'
import { workKinds } from '../../../src/domain/durable-work.ts'
import { openStatuses, type TrainingJobStatus } from '../../../src/domain/training-job-status.ts'
import type { PreparedData } from '../../../src/domain/training-job.ts'
import { acceptJob, after, ended, openAccount, openAttempt, openNext, takeMessages } from './subject.ts'
import type { Cases, Subject } from './subject.ts'

const mover =
  ({ database }: Subject, jobId: number) =>
  (to: TrainingJobStatus, generation = 1) =>
    database.trainingJobs.move({ jobId, generation, to, reason: 'a reason', message: 'A message.', actor: 'test' })

const untilComplete = [
  'QUEUED',
  'LOADING DATA',
  'TRAINING MODEL',
  'SAVING MODEL',
  'EVALUATING MODEL',
  'COMPLETED',
] as const

export const trainingJobCases: Cases = {
  'a job is found by its account alone': async ({ database }) => {
    const [mine, other] = [await openAccount(database), await openAccount(database)]
    const job = await acceptJob(database, mine)
    const { trainingJobs } = database
    assert.deepEqual(await trainingJobs.find(mine.accountId, job.id), job)
    assert.deepEqual(await database.transaction((tx) => tx.trainingJobs.lock(mine.accountId, job.id)), job)
    assert.deepEqual(await database.transaction((tx) => tx.trainingJobs.hold(job.id)), job)
    assert.equal(await trainingJobs.find(other.accountId, job.id), null)
    assert.equal(await database.transaction((tx) => tx.trainingJobs.lock(other.accountId, job.id)), null)
    await assert.rejects(trainingJobs.get(job.id + 1), { code: 'not_found' })
    await assert.rejects(trainingJobs.hold(job.id + 1), { code: 'not_found' })
  },

  'a job moves along its table, in its generation, each move with an event': async (subject) => {
    const { database, setNow } = subject
    const { id } = await acceptJob(database, await openAccount(database))
    const move = mover(subject, id)
    assert.deepEqual([await move('COMPLETED'), await move('QUEUED', 2)], ['refused', 'refused'])
    await setNow(after(5))
    for (const status of untilComplete) assert.deepEqual([await move(status), await move(status)], ['moved', 'already'])
    const job = await database.trainingJobs.get(id)
    assert.deepEqual([job.statusReason, job.statusMessage, job.finishedAt], ['a reason', 'A message.', after(5)])
    assert.equal(await move('QUEUED'), 'refused')
    const events = await database.jobEvents.list(id, { after: null, limit: 10 })
    assert.deepEqual(
      events.map(({ status }) => status),
      ['CREATED', ...untilComplete],
    )
  },

  'once a cancel is accepted, CANCELLED is the only way on': async (subject) => {
    const { database, setNow } = subject
    const { trainingJobs } = database
    const { id } = await acceptJob(database, await openAccount(database))
    const move = mover(subject, id)
    await move('QUEUED')
    await setNow(after(5))
    assert.equal(await trainingJobs.requestCancel(id, 'Cancel.', { isPause: true }), true)
    assert.equal(await trainingJobs.requestCancel(id, 'Again.'), false)
    await trainingJobs.explain(id, 1, 'QUEUED', 'waiting', 'It waits.')
    await trainingJobs.queue({ jobId: id, generation: 1, reason: 'queued', message: null })
    for (const to of [...openStatuses, 'FAILED', 'PARTIALLY COMPLETED'] as const)
      assert.equal(await move(to), to === 'QUEUED' ? 'already' : 'cancelling')
    const { status, statusReason, statusMessage, cancelRequestedAt, pauseRequestedAt } = await trainingJobs.get(id)
    assert.deepEqual([status, statusReason, statusMessage], ['QUEUED', 'cancelling', 'Cancel.'])
    assert.deepEqual([cancelRequestedAt, pauseRequestedAt], [after(5), after(5)])
    await trainingJobs.forgetPause(id)
    assert.equal((await trainingJobs.get(id)).pauseRequestedAt, null)
    assert.equal(await move('CANCELLED'), 'moved')
    assert.equal(await trainingJobs.requestCancel(id, 'Late.'), false)
  },

  'a resume is the only way out of an end, and counts': async (subject) => {
    const { database } = subject
    const { trainingJobs } = database
    const { id } = await acceptJob(database, await openAccount(database))
    const move = mover(subject, id)
    await trainingJobs.requestCancel(id, 'Cancel.')
    await move('CANCELLED')
    await trainingJobs.queue({ jobId: id, generation: 1, reason: null, message: null })
    assert.equal((await trainingJobs.get(id)).status, 'CANCELLED')
    const job = await trainingJobs.resume(id, 'Resumed.')
    assert.deepEqual(job, await trainingJobs.get(id))
    assert.deepEqual([job.status, job.statusReason, job.statusMessage], ['QUEUED', 'resumed', 'Resumed.'])
    assert.deepEqual([job.generation, job.resumeCount, job.cancelRequestedAt, job.finishedAt], [2, 1, null, null])
    assert.deepEqual([await move('FAILED', 1), await move('FAILED', 2)], ['refused', 'moved'])
    await trainingJobs.countResume(id)
    assert.equal((await trainingJobs.get(id)).resumeCount, 2)
  },

  'a job says why it waits in the state and the generation that was meant': async ({ database }) => {
    const { trainingJobs } = database
    const { id } = await acceptJob(database, await openAccount(database))
    const queue = (generation: number, reason: string) =>
      trainingJobs.queue({ jobId: id, generation, attempt: 1, reason, message: 'It waits.' })
    const said = async () => {
      const { statusReason, statusMessage } = await trainingJobs.get(id)
      return [statusReason, statusMessage]
    }
    await queue(1, 'one')
    await trainingJobs.explain(id, 1, 'LOADING DATA', 'another state', null)
    await trainingJobs.explain(id, 2, 'QUEUED', 'another generation', null)
    assert.deepEqual(await said(), ['one', 'It waits.'])
    await queue(1, 'two')
    await queue(2, 'three')
    assert.deepEqual(await said(), ['two', 'It waits.'])
    await trainingJobs.explain(id, 1, 'QUEUED', 'four', null)
    assert.deepEqual(await said(), ['four', null])
    const events = await database.jobEvents.list(id, { after: null, limit: 10 })
    assert.deepEqual(events.map(({ reason, attempt, actor }) => [reason, attempt, actor])[1], ['one', 1, 'workflow'])
    assert.equal(events.length, 2)
  },

  'data is prepared once; its copy moves while its run is open': async (subject) => {
    const { database } = subject
    const { trainingJobs } = database
    const { id } = await acceptJob(database, await openAccount(database))
    const data = (key: string): PreparedData => {
      const file = { key, sizeBytes: 1, sha256: 'hash', rowCount: 1 }
      return { train: file, evaluation: { ...file, split: 'train' }, sourceEtag: 'etag', reader: 1 }
    }
    const prepared = async () => (await trainingJobs.get(id)).preparedData?.train.key
    assert.equal(await trainingJobs.setPreparedData({ id, generation: 2 }, data('another generation')), false)
    assert.equal(await prepared(), undefined)
    assert.equal(await trainingJobs.setPreparedData({ id, generation: 1 }, data('first')), true)
    assert.equal(await trainingJobs.setPreparedData({ id, generation: 1 }, data('second')), false)
    assert.equal(await prepared(), 'first')
    await trainingJobs.movePreparedData({ id, generation: 2 }, data('another generation'))
    await trainingJobs.movePreparedData({ id, generation: 1 }, data('third'))
    assert.deepEqual((await trainingJobs.get(id)).preparedData, data('third'))
    const own = `jobs/${id}/data/train`
    const { datasetVersionId } = await trainingJobs.get(id)
    assert.equal(await trainingJobs.findPreparedData(datasetVersionId, 'etag'), null)
    const shared = { ...data(own), sourceEtag: 'etag' }
    await trainingJobs.movePreparedData({ id, generation: 1 }, shared)
    const found = { owner: id, prepared: shared }
    assert.deepEqual(await trainingJobs.findPreparedData(datasetVersionId, 'etag'), found)
    assert.deepEqual([await trainingJobs.holdPreparedData(id), await trainingJobs.holdPreparedData(0)], [true, false])
    await trainingJobs.movePreparedData({ id, generation: 1 }, data('third'))
    await mover(subject, id)('FAILED')
    await trainingJobs.movePreparedData({ id, generation: 1 }, data('late'))
    assert.equal(await prepared(), 'third')
  },

  'events are listed in pages': async ({ database: { jobEvents, ...rest } }) => {
    const database = { jobEvents, ...rest }
    const { id } = await acceptJob(database, await openAccount(database))
    await jobEvents.add(id, { kind: 'command', reason: 'one', actor: 'a' }, { kind: 'attempt', attempt: 1, actor: 'b' })
    const ids = async (from: bigint | null) =>
      (await jobEvents.list(id, { after: from, limit: 2 })).map((event) => event.id)
    assert.deepEqual([await ids(null), await ids(2n)], [['1', '2'], ['3']])
    assert.deepEqual(await jobEvents.list(id + 1, { after: null, limit: 2 }), [])
  },

  'a repeated step overwrites; steps behind a checkpoint go': async ({ database }) => {
    const { id } = await acceptJob(database, await openAccount(database))
    const { trainingSteps } = database
    const row = { learning_rate: 0.5, epoch: 1, iter_time: 2, flops: 3, remaining_time: 4 }
    const steps = (...losses: number[]) => losses.map((loss, index) => ({ ...row, step: index + 1, loss }))
    await trainingSteps.upsertMany(id, 1, steps(0.5, 0.25, 0.125))
    await trainingSteps.upsertMany(id, 2, steps(0.75))
    const all = async () => (await trainingSteps.since(id, { attempt: 0, step: 0 })).steps
    assert.deepEqual(await all(), steps(0.75, 0.25, 0.125))
    await trainingSteps.deleteAfter(id, 2)
    await trainingSteps.deleteAfter(id + 1, 0)
    assert.deepEqual(await all(), steps(0.75, 0.25))
    const news = { attempt: 0, keptStep: 1, steps: steps(0, 0.25).slice(1) }
    assert.deepEqual(await trainingSteps.since(id, { attempt: 0, step: 1 }), news)
    assert.deepEqual((await trainingSteps.since(id, { attempt: 0, step: 2 })).steps, [])
    const [first, second] = steps(0.75, 0.25)
    assert.ok(first && second)
    const validated = { ...second, valid_loss: 0.375, valid_token_accuracy: 0.5 }
    await trainingSteps.upsertMany(id, 2, [validated])
    assert.deepEqual(await all(), [first, validated], 'a series that was not measured is absent')
  },

  'the reaper sees open jobs that Temporal was told of, in pages': async (subject) => {
    const { database } = subject
    const account = await openAccount(database)
    const ids: number[] = []
    for (let each = 0; each < 4; each++) ids.push((await acceptJob(database, account)).id)
    const [first = 0, second = 0, third = 0, fourth = 0] = ids
    const pages = async () => {
      const found: number[][] = []
      for await (const page of database.reaper.deliveredJobs(2)) found.push(page.map(({ jobId }) => jobId))
      return found
    }
    const hold = (jobId: number, generation = 1) =>
      database.transaction((tx) => tx.reaper.holdDelivered({ jobId, generation }))
    assert.deepEqual([await pages(), await hold(first)], [[], null])
    await takeMessages(database)
    assert.deepEqual(await pages(), [
      [first, second],
      [third, fourth],
    ])
    assert.deepEqual([await hold(first), await hold(first, 2)], [{ isCancelling: false }, null])
    await mover(subject, second)('FAILED')
    const message = { workflowId: `fine-tune-${third}`, generation: 1 } as const
    await database.outbox.add({ ...message, kind: 'cancel', payload: { jobId: third } })
    const phase = { attempt: 1, phase: 'LOADING DATA' }
    await database.outbox.add({ ...message, workflowId: `fine-tune-${fourth}`, kind: 'phase', payload: phase })
    await database.trainingJobs.requestCancel(fourth, 'Cancel.')
    assert.deepEqual(await pages(), [[first, fourth]])
    assert.deepEqual([await hold(second), await hold(third), await hold(fourth)], [null, null, { isCancelling: true }])
    for (const kind of workKinds)
      for await (const page of database.durableWork.started(kind)) assert.fail(`${page.length} of ${kind}`)
    assert.deepEqual(await database.reaper.listModelServers(), [])
  },

  'an attempt is wanted while it may write, and stray once its job has gone on without it': async (subject) => {
    const { database, setNow } = subject
    const wanted = await openAttempt(database)
    await setNow(after(1))
    const [fenced, released, ofEnded] = [
      await openAttempt(database),
      await openAttempt(database),
      await openAttempt(database),
    ]
    await database.attempts.fence(fenced.position)
    await database.attempts.release(released.position, ended)
    for (const { job } of [released, ofEnded]) await mover(subject, job.id)('FAILED')
    const all = [wanted, fenced, released, ofEnded].map(({ position }) => position)
    const unknown = { jobId: wanted.job.id, number: 7 }
    assert.deepEqual(await database.reaper.wantedAttempts([...all, unknown]), [wanted.position])
    assert.deepEqual(await database.reaper.listStrayAttempts(10), [ofEnded.position])
    await mover(subject, wanted.job.id)('FAILED')
    await database.trainingJobs.resume(wanted.job.id, 'Resumed.')
    assert.deepEqual(await database.reaper.listStrayAttempts(10), [wanted.position, ofEnded.position])
    assert.deepEqual(await database.reaper.listStrayAttempts(1), [wanted.position])
    const { position } = await openNext(database, wanted.job, 2, 2)
    assert.deepEqual(await database.attempts.listUnreleased(wanted.job.id, 1), [
      await database.attempts.get(wanted.position),
    ])
    const unreleased = await database.attempts.listUnreleased(wanted.job.id, 2)
    assert.deepEqual(
      unreleased.map(({ number }) => number),
      [1, position.number],
    )
  },
}
