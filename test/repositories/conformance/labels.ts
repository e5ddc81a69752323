// The names that workflows show, and the switch that stops new work.
import assert from 'node:assert/strict'
import { acceptJob, openAccount, type Cases } from './subject.ts'

export const labelCases: Cases = {
  'new work starts unless an operator has stopped it': async ({ database }) => {
    assert.equal(await database.installation.maintenance(), null)
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
