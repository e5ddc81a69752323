// What jobs that wait are told, and the names that their workflows show. No operator stops new work here.
import { ServiceError } from '../../../../src/domain/service-error.ts'
import { inMaintenance, waitingForSlot } from '../../../../src/domain/wait.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'

export const installation = (db: Connection): InMemory<'installation'> => ({
  maintenance: () => db.run('installation.maintenance', () => null),
})

export const attemptWaits = (db: Connection): InMemory<'attemptWaits'> => ({
  explain: ({ reason, message }) =>
    db.run('attemptWaits.explain', async (tx) => {
      const waits = ({ grantedAt, releasedAt, fencedAt }: Rows['attempt']) =>
        grantedAt === null && releasedAt === null && fencedAt === null
      const isWrong = (job: Rows['trainingJob']) =>
        job.status === 'QUEUED' &&
        job.cancelRequestedAt === null &&
        [inMaintenance, waitingForSlot].some((each) => each === job.statusReason) &&
        (job.statusReason !== reason || job.statusMessage !== message) &&
        tx.find('attempt', (row) => row.jobId === job.id && row.number === job.currentAttempt && waits(row)) !== null
      await tx.update('trainingJob', isWrong, () => ({ statusReason: reason, statusMessage: message }))
    }),
})

export const jobDetails = (db: Connection): InMemory<'jobDetails'> => ({
  labels: (jobId) =>
    db.run('jobDetails.labels', (tx) => {
      const job = tx.get('trainingJob', jobId)
      if (!job) throw new ServiceError('not_found', `There is no job ${jobId}.`)
      const { accountId, datasetId, baseModel, customModelName } = job
      const isRun = (row: Rows['trainingJob']) =>
        row.accountId === accountId && row.datasetId === datasetId && row.id <= jobId
      return {
        ...{ jobId, accountId, datasetId, baseModel, customModelName, fileName: null, modelVersion: null },
        accountName: tx.get('account', accountId)?.name ?? '',
        datasetRun: tx.all('trainingJob', isRun).length,
      }
    }),
})
