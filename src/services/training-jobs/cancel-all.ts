import { isTerminal } from '../../domain/training-job-status.ts'
import type { AuditOrigin } from '../audit/record.ts'
import { requestCancel } from './cancel.ts'
import type { ServiceDependencies } from '../context.ts'

const pageSize = 100

/** Requests the cancel of every open job of the account. @returns the number of jobs with a new request */
export async function cancelAllTrainingJobs({
  deps: { database },
  ...by
}: AuditOrigin & { accountId: string; deps: Pick<ServiceDependencies, 'database'> }): Promise<{ cancelled: number }> {
  let cancelled = 0
  for (;;) {
    const ids = await database.trainingJobs.listCancellable(by.accountId, pageSize)
    if (ids.length === 0) return { cancelled }
    for (const id of ids) {
      const isAccepted = await database.transaction(async (tx) => {
        const job = await tx.trainingJobs.lock(by.accountId, id)
        return job !== null && !isTerminal(job.status) && requestCancel(tx, by, job)
      })
      if (isAccepted) cancelled++
    }
  }
}
