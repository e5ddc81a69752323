import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TimelineEntry, TimelinePlace } from '../../src/repositories/job-timeline.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { openDatabase } from '../support/sandbox.ts'

suite('the steps of a job beside its events', () => {
  const database = openDatabase()

  const stepAt = (step: number) => ({
    ...{ step, loss: 1 / step, learning_rate: 0.1, epoch: 1 },
    ...{ iter_time: 0.5, flops: 1, remaining_time: 100 - step },
  })
  const placeOf = (entry: TimelineEntry): TimelinePlace =>
    entry.kind === 'event' ? { kind: 'event', id: entry.event.id } : { kind: 'step', id: String(entry.step.step) }

  test('come with them by time, newest first, in pages that lose and repeat none', async () => {
    const accountId = await anAccount(database)
    const { id: jobId } = await openJob(database, accountId)
    await openJob(database, accountId).then(({ id }) => database.trainingSteps.upsertMany(id, 1, [stepAt(9)]))
    const note = (reason: string) => database.jobEvents.add(jobId, { kind: 'note', reason, actor: 'test' })
    await note('before')
    await database.trainingSteps.upsertMany(jobId, 1, [stepAt(1), stepAt(2)])
    await note('between')
    await database.trainingSteps.upsertMany(jobId, 1, [stepAt(3)])
    await database.transaction(async (tx) => {
      await tx.jobEvents.add(
        jobId,
        { kind: 'note', reason: 'one', actor: 'a' },
        { kind: 'note', reason: 'two', actor: 'a' },
      )
      await tx.trainingSteps.upsertMany(jobId, 1, [stepAt(4)])
    })
    const list = (place: TimelinePlace | null, limit: number) =>
      database.jobTimeline.list(jobId, { after: place, limit })
    const whole = await list(null, 100)
    const told = whole.map((entry) => (entry.kind === 'event' ? entry.event.reason : entry.step.step))
    assert.deepEqual(told.slice(0, 8), ['two', 'one', 4, 3, 'between', 2, 1, 'before'])
    for (const [index, entry] of whole.entries())
      assert.deepEqual(await list(placeOf(entry), 2), whole.slice(index + 1, index + 3))
    assert.deepEqual((await list({ kind: 'step', id: '7' }, 1)).map(placeOf), [{ kind: 'step', id: '4' }])
  })

  test('a note that a resumed attempt repeats is an event once', async () => {
    const { id: jobId } = await openJob(database, await anAccount(database))
    const note = (reason: string, message: string) => ({ kind: 'note' as const, reason, message, actor: 'attempt' })
    const told = [note('argument_ignored', 'x'), note('argument_ignored', 'y')]
    await database.jobEvents.addOnce(jobId, ...told)
    await database.jobEvents.addOnce(jobId, ...told, note('argument_ignored', 'z'), note('overfitting', 'x'))
    const events = await database.jobEvents.newest(jobId, 100)
    const messages = events.filter(({ kind }) => kind === 'note').map(({ message }) => message)
    assert.deepEqual(messages, ['x', 'z', 'y', 'x'])
  })

  test('are lines of CSV of the size that is told', async () => {
    const { id: jobId } = await openJob(database, await anAccount(database))
    assert.equal(await database.trainingSteps.csvSize(jobId, []), 0)
    const validated = { ...stepAt(4), valid_loss: 0.5, valid_token_accuracy: 0.75, valid_rows: 2 }
    await database.trainingSteps.upsertMany(jobId, 1, [stepAt(2), { ...stepAt(3), loss: 1e-7 }, validated])
    const pages = await Array.fromAsync(database.trainingSteps.csvPages(jobId, []))
    const text = pages.flatMap((lines) => lines.map(({ line }) => line)).join('')
    assert.equal(text, '2,0.5,,,\n3,1e-07,,,\n4,0.25,,0.5,0.75\n')
    assert.equal(await database.trainingSteps.csvSize(jobId, []), text.length)
  })

  test('are lines of CSV with a column for each wanted series, empty where a step lacks it', async () => {
    const { id: jobId } = await openJob(database, await anAccount(database))
    const told = { ...stepAt(4), series: { reward: 0.5, 'rewards/margins': -1e-7 } }
    await database.trainingSteps.upsertMany(jobId, 1, [stepAt(2), told])
    const series = ['rewards/margins', 'reward', 'valid_reward']
    const pages = await Array.fromAsync(database.trainingSteps.csvPages(jobId, series))
    const text = pages.flatMap((lines) => lines.map(({ line }) => line)).join('')
    assert.equal(text, '2,0.5,,,,,,\n4,0.25,,,,-0.0000001,0.5,\n')
    assert.equal(await database.trainingSteps.csvSize(jobId, series), text.length)
  })
})
