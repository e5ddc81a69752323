// Statements on a job's row, and on its steps.
import { openStatuses } from '../../../src/domain/training-job-status.ts'
import type { Doubles } from './doubles.ts'
import type { Row } from './rows.ts'
import { keyOf } from './tables.ts'

export const isOpen = (row: Row | null): row is Row =>
  row !== null && (openStatuses as unknown[]).includes(row['status'])

export const trainingJobDoubles: Doubles = {
  'hold job': ['50d528de', async (session, [id]) => session.lock('trainingJob', String(id))],

  'lock job': ['00ebe036', async (session, [id]) => session.lock('trainingJob', String(id))],

  'count open jobs': [
    'a2d3768f',
    async (session, [accountId, , offset]) => {
      const open = session.all('trainingJob', (row) => row['accountId'] === accountId && isOpen(row))
      return open.slice(offset, offset + 1).map(() => ({}))
    },
  ],

  'find job': [
    'd19b7644',
    async (session, [accountId, id]) => {
      const row = session.get('trainingJob', String(id))
      return row && row['accountId'] === accountId ? [row] : []
    },
  ],

  'upsert steps': [
    'b0e51611',
    async (session, [jobId, attempt, step, loss, learningRate, epoch, iterTime, flops, remainingTime]) => {
      const columns = Object.entries({ step, loss, learningRate, epoch, iterTime, flops, remainingTime })
      const rows = (step as number[]).map((_, index) =>
        Object.fromEntries(columns.map(([name, column]) => [name, (column as unknown[])[index]])),
      )
      for (const values of rows) {
        const row: Row = { jobId, attempt, ...values, at: new Date(session.nowMs) }
        await session.lock('trainingStep', keyOf('trainingStep', row))
        session.put('trainingStep', keyOf('trainingStep', row), row)
      }
      return rows.length
    },
  ],

  'add audit event': ['990280e2', async () => 1],

  notify: [
    'e777cb68',
    async (session, [channel]) => {
      session.notified.add(channel)
    },
  ],
}
