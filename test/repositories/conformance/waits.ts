// What jobs that wait are told, and the names that their workflows show.
import assert from 'node:assert/strict'
import { slotWait } from '../../../src/domain/wait.ts'
import { acceptJob, after, openAccount, openAttempt, start, type Cases } from './subject.ts'

export const waitCases: Cases = {
  'new work starts unless an operator has stopped it': async ({ database }) => {
    assert.equal(await database.installation.maintenance(), null)
  },

  'jobs without a slot are told of a maintenance and of its end, others keep their reason': async ({
    database,
    setNow,
  }) => {
    const oldest = await openAttempt(database)
    await setNow(after(1))
    const [waits, refused] = [await openAttempt(database), await openAttempt(database)]
    const queue = ({ job: { id: jobId } }: typeof oldest, reason: string) =>
      database.trainingJobs.queue({ jobId, generation: 1, reason, message: 'Before.' })
    await queue(oldest, 'waiting_for_slot')
    await queue(refused, 'launch_refused')
    await database.transaction((tx) => tx.attempts.grantSlots(1))
    const reasons = async () => {
      const jobs = await Promise.all([oldest, waits, refused].map(({ job }) => database.trainingJobs.get(job.id)))
      return jobs.map(({ statusReason }) => statusReason)
    }
    await database.attemptWaits.explain(slotWait(1, { since: start, message: '' }))
    assert.deepEqual(await reasons(), ['waiting_for_slot', null, 'launch_refused'])
    await queue(waits, 'waiting_for_slot')
    await database.attemptWaits.explain(slotWait(1, { since: start, message: '' }))
    assert.deepEqual(await reasons(), ['waiting_for_slot', 'maintenance', 'launch_refused'])
    await database.attemptWaits.explain(slotWait(1, null))
    assert.deepEqual(await reasons(), ['waiting_for_slot', 'waiting_for_slot', 'launch_refused'])
  },

  'a job is named by its account, its data set and its number among the jobs on that data set': async ({
    database,
  }) => {
    const account = await openAccount(database)
    const jobs = [await acceptJob(database, account), await acceptJob(database, account)]
    const stranger = await acceptJob(database, await openAccount(database))
    const labels = { baseModel: 'a model', customModelName: 'a name', modelVersion: null, fileName: null }
    for (const [index, { id: jobId, accountId }] of [...jobs, stranger].entries())
      assert.deepEqual(await database.jobDetails.labels(jobId), {
        ...{ ...labels, jobId, accountId, accountName: 'an account', datasetId: 'data' },
        datasetRun: index === 1 ? 2 : 1,
      })
    await assert.rejects(database.jobDetails.labels(stranger.id + 100), { code: 'not_found' })
  },
}
