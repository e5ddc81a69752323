// The names that workflows show, and the switch that stops new work: no operator does so here.
import { ServiceError } from '../../../../src/domain/service-error.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'

export const installation = (): InMemory<'installation'> => ({
  maintenance: async () => null,
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
