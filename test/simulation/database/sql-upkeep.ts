// What the reaper asks.
import { fineTuneWorkflowId } from '../../../src/domain/identifiers.ts'
import type { Doubles } from './doubles.ts'
import type { Row, Session } from './rows.ts'
import { isOpen } from './sql-training-jobs.ts'

export const upkeepDoubles: Doubles = {
  'list delivered jobs': [
    'ce07383e',
    async (session, [, after, , limit]) =>
      session
        .all('trainingJob', (row) => isOpen(row) && Number(row['id']) > after && !hasMessage(session, row['id']))
        .map(([, { id, generation }]) => ({ jobId: id, generation }))
        .toSorted((a, b) => Number(a.jobId) - Number(b.jobId))
        .slice(0, limit),
  ],

  'list started batches': ['323d3018', async () => []],

  'hold delivered job': [
    '547b4970',
    async (session, [jobId, generation]) => {
      const is = (row: Row | null) => isOpen(row) && row['generation'] === generation
      if (!is(session.get('trainingJob', String(jobId)))) return []
      await session.lock('trainingJob', String(jobId))
      const row = session.get('trainingJob', String(jobId))
      return row && is(row) ? [{ isCancelling: row['cancelRequestedAt'] !== null }] : []
    },
  ],

  'see wanted attempts': [
    'd4c9aa03',
    async (session, [jobIds, numbers]) => {
      const asked = (jobIds as number[]).map((jobId, index) => ({ jobId, number: (numbers as number[])[index] }))
      return asked.filter(({ jobId, number }) => {
        const isWanted = (row: Row) =>
          row['jobId'] === jobId && row['number'] === number && row['fencedAt'] === null && row['releasedAt'] === null
        return isOpen(session.get('trainingJob', String(jobId))) && session.all('attempt', isWanted).length > 0
      })
    },
  ],

  'list stray attempts': [
    '901c3468',
    async (session, [, limit]) =>
      session
        .all('attempt', (row) => {
          const job = session.get('trainingJob', String(row['jobId']))
          return row['releasedAt'] === null && (!isOpen(job) || Number(row['generation']) < Number(job['generation']))
        })
        .toSorted(([, a], [, b]) => Number(a['createdAt']) - Number(b['createdAt']))
        .map(([, { jobId, number }]) => ({ jobId, number }))
        .slice(0, limit),
  ],
}

function hasMessage(session: Session, jobId: unknown): boolean {
  const workflowId = fineTuneWorkflowId(Number(jobId))
  const isIt = (row: Row) =>
    row['workflowId'] === workflowId && ['start', 'cancel'].includes(String(row['kind'])) && row['deliveredAt'] === null
  return session.all('outboxMessage', isIt).length > 0
}
