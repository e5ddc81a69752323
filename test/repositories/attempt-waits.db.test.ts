// What the workflows of waiting jobs are told, and the maintenance that keeps jobs waiting.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { slotWait } from '../../src/domain/wait.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount, openAttempt } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('waiting attempts', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  const grant = (slots: number) => database.transaction((tx) => tx.attempts.grantSlots(slots))
  const untold = async () =>
    (await database.attemptWaits.takeUntold(1000, 0)).map(({ jobId, reason, ahead }) => ({ jobId, reason, ahead }))
  const queue = (jobId: number) => {
    const { reason, message } = slotWait(1, null)
    return database.trainingJobs.queue({ jobId, generation: 1, reason, message })
  }
  const release = (jobId: number) =>
    database.attempts.release({ jobId, number: 1 }, { cause: 'finished', exitCode: 0, message: 'done' })

  test('are told their place, then only when it has halved or the reason is another one', async () => {
    assert.equal(await database.attemptWaits.exist(), false)
    const account = await anAccount(database)
    const jobs: number[] = []
    for (let count = 0; count < 9; count++) jobs.push((await openAttempt(database, account)).jobId)
    for (const jobId of jobs) await queue(jobId)
    await grant(1)
    assert.equal(await database.attemptWaits.exist(), true)
    const last = jobs.at(-1) ?? 0
    const places = await untold()
    assert.equal(places.length, 9)
    assert.deepEqual(
      places.filter(({ jobId }) => jobId === last),
      [{ jobId: last, reason: 'waiting_for_slot', ahead: 7 }],
    )
    assert.deepEqual(await untold(), [])
    const seen: (number | null)[] = []
    for (const jobId of jobs.slice(0, 7)) {
      await release(jobId)
      await grant(1)
      seen.push(...(await untold()).flatMap((each) => (each.jobId === last ? [each.ahead] : [])))
    }
    assert.deepEqual(seen, [3, 1, 0])
    await database.trainingJobs.explain(last, 1, 'QUEUED', 'unschedulable', 'No node has room.')
    assert.deepEqual(
      (await untold()).map(({ reason }) => reason),
      ['unschedulable'],
    )
    for (const jobId of jobs.slice(7)) await release(jobId)
  })

  test('get no slot in maintenance, say so, and get it in their order afterwards', async () => {
    const account = await anAccount(database)
    const { jobId } = await openAttempt(database, account)
    await queue(jobId)
    const refused = await openAttempt(database, account)
    const why = { reason: 'launch_refused', message: 'The cluster refuses its pods.' }
    await database.trainingJobs.queue({ jobId: refused.jobId, generation: 1, ...why })
    const maintained = async () => {
      await grant(1)
      const maintenance = await database.installation.maintenance()
      await database.attemptWaits.explain(slotWait(1, maintenance))
      const { statusReason, statusMessage } = await database.trainingJobs.get(jobId)
      const { grantedAt } = await database.attempts.get({ jobId, number: 1 })
      return { isGranted: grantedAt !== null, statusReason, statusMessage }
    }
    await database.installation.setMaintenance('Upgrade until noon.')
    const since = (await database.installation.maintenance())?.since
    await database.installation.setMaintenance('Upgrade until one.')
    assert.deepEqual(await database.installation.maintenance(), { since, message: 'Upgrade until one.' })
    const { statusMessage, ...held } = await maintained()
    assert.deepEqual(held, { isGranted: false, statusReason: 'maintenance' })
    assert.match(statusMessage ?? '', /Upgrade until one\. The job starts once new work goes on/)
    assert.equal((await database.trainingJobs.get(refused.jobId)).statusReason, 'launch_refused')
    await database.installation.setMaintenance(null)
    assert.equal((await maintained()).isGranted, true)
  })

  test('take no slot from a running attempt in maintenance', async () => {
    const account = await anAccount(database)
    const running = await openAttempt(database, account)
    await grant(10)
    await openAttempt(database, account)
    const position = { jobId: running.jobId, number: 1 }
    assert.equal(await database.attempts.othersWait(position), true)
    await database.installation.setMaintenance('')
    assert.equal(await database.attempts.othersWait(position), false)
    await database.installation.setMaintenance(null)
  })
})
