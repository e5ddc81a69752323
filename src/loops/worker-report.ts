import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Database } from '../repositories/database.ts'
import type { Loop } from './run-loop.ts'

const everyMs = 10_000
const whileStartingMs = 1000

type TemporalWorker = { getState(): string; getStatus(): { numInFlightActivities: number } }

/** Tells the operators' page what this worker does. */
export function workerReport({
  database,
  workers,
  slots,
  reaped,
}: {
  database: { workers: Pick<Database['workers'], 'report'> }
  workers: readonly TemporalWorker[]
  slots: () => number | null
  reaped: () => Promise<Record<string, number>>
}): Loop {
  const self = { id: randomUUID(), host: hostname(), pid: process.pid }
  return {
    name: 'worker report',
    async pass() {
      const isPolling = workers.every((worker) => worker.getState() === 'RUNNING')
      await database.workers.report({
        ...self,
        slots: slots(),
        isPolling,
        activityCount: workers.reduce((sum, worker) => sum + worker.getStatus().numInFlightActivities, 0),
        reaped: await reaped(),
      })
      return isPolling ? everyMs : whileStartingMs
    },
  }
}
