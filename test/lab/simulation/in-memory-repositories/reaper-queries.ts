import { fineTuneWorkflowId } from '../../../../src/domain/identifiers.ts'
import { isTerminal } from '../../../../src/domain/training-job-status.ts'
import { keysetPages } from '../../../../src/repositories/keyset-pages.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

const maxInPage = 1000

export const reaper = (db: Connection): InMemory<'reaper'> => ({
  deliveredJobs: (pageSize?: number) =>
    keysetPages({ jobId: 0 }, pageSize ?? maxInPage, ({ jobId: after }) =>
      db.run('reaper.deliveredJobs', (tx) =>
        tx
          .all('trainingJob', ({ id, status }) => id > after && !isTerminal(status) && !hasUndelivered(tx, id))
          .toSorted((a, b) => a.id - b.id)
          .slice(0, pageSize ?? maxInPage)
          .map(({ id, generation }) => ({ jobId: id, generation })),
      ),
    ),

  async holdDelivered({ jobId, generation }) {
    const job = await db.run('reaper.holdDelivered', async (tx) => {
      const isIt = (row: Rows['trainingJob'] | null) => row?.generation === generation && !isTerminal(row.status)
      if (!isIt(tx.get('trainingJob', jobId))) return null
      await tx.lock('trainingJob', jobId)
      const row = tx.get('trainingJob', jobId)
      return row && isIt(row) ? { isCancelling: row.cancelRequestedAt !== null } : null
    })
    if (!job) return null
    const isTold = await db.run('reaper.holdDelivered, messages', (tx) => !hasUndelivered(tx, jobId))
    return isTold ? job : null
  },

  wantedAttempts: (positions) =>
    db.run('reaper.wantedAttempts', (tx) =>
      tx
        .all('attempt', ({ jobId, number, fencedAt, releasedAt }) => {
          const job = tx.get('trainingJob', jobId)
          const isAsked = positions.some((each) => each.jobId === jobId && each.number === number)
          return isAsked && fencedAt === null && releasedAt === null && job !== null && !isTerminal(job.status)
        })
        .map(({ jobId, number }) => ({ jobId, number })),
    ),

  listStrayAttempts: (limit) =>
    db.run('reaper.listStrayAttempts', (tx) =>
      tx
        .all('attempt', (row) => {
          const job = tx.get('trainingJob', row.jobId)
          const isStray = job !== null && (row.generation < job.generation || isTerminal(job.status))
          return isStray && row.releasedAt === null
        })
        .toSorted((a, b) => Number(a.createdAt) - Number(b.createdAt))
        .slice(0, limit)
        .map(({ jobId, number }) => ({ jobId, number })),
    ),

  /** There are no model servers here. */
  listModelServers: () => db.run('reaper.listModelServers', () => []),
})

const hasUndelivered = (tx: Transaction, jobId: number) =>
  tx.find(
    'outboxMessage',
    ({ workflowId, kind, deliveredAt }) =>
      workflowId === fineTuneWorkflowId(jobId) && (kind === 'start' || kind === 'cancel') && deliveredAt === null,
  ) !== null
