// Everything an account has, for its removal. Each step may be repeated; none needs more memory than a page of jobs.
import { openStatuses } from '../domain/training-job-status.ts'
import type { Connection } from './database.ts'
import { requestBucketKey } from './rate-limits.ts'

export const createAccountDataRepository = (db: Connection) => ({
  /** Whether a job is open, or an attempt of one not yet released. */
  async isBusy(accountId: string): Promise<boolean> {
    const open = await db.trainingJob.findFirst({
      where: { accountId, status: { in: openStatuses } },
      select: { id: true },
    })
    const unreleased =
      open ?? (await db.attempt.findFirst({ where: { accountId, releasedAt: null }, select: { id: true } }))
    return unreleased !== null
  },

  /** Ids of at most `limit` jobs, whatever their state. */
  async someJobIds(accountId: string, limit: number): Promise<number[]> {
    const rows = await db.trainingJob.findMany({ where: { accountId }, select: { id: true }, take: limit })
    return rows.map(({ id }) => id)
  },

  /** Jobs that have ended, with all that was written about them. */
  async deleteJobs(ids: number[], workflowIds: string[]): Promise<number> {
    const jobs = { jobId: { in: ids } }
    await db.evaluation.deleteMany({ where: { artifact: jobs } })
    await db.model.deleteMany({ where: jobs })
    await db.artifact.deleteMany({ where: jobs })
    await db.trainingStep.deleteMany({ where: jobs })
    await db.jobEvent.deleteMany({ where: jobs })
    await db.attempt.deleteMany({ where: jobs })
    await db.outboxMessage.deleteMany({ where: { workflowId: { in: workflowIds } } })
    return (await db.trainingJob.deleteMany({ where: { id: { in: ids } } })).count
  },

  /** What is left once the jobs are gone, and the account itself. The audit trail stays. */
  async deleteAccount(accountId: string) {
    const where = { accountId }
    await db.model.deleteMany({ where })
    await db.datasetVersion.deleteMany({ where })
    await db.storedRow.deleteMany({ where })
    await db.$executeRaw`
      delete from outbox_messages where kind = 'start-batch'
        and (payload->>'batchId')::uuid in (select id from inference_batches where account_id = ${accountId}::uuid)`
    await db.inferenceBatch.deleteMany({ where })
    await db.idempotencyKey.deleteMany({ where })
    await db.usageDay.deleteMany({ where })
    await db.$executeRaw`
      delete from webhook_deliveries
      where endpoint_id in (select id from webhook_endpoints where account_id = ${accountId}::uuid)`
    await db.webhookEndpoint.deleteMany({ where })
    const keys = await db.apiKey.findMany({ where, select: { id: true } })
    await db.rateLimit.deleteMany({ where: { key: { in: keys.map(({ id }) => requestBucketKey(id)) } } })
    await db.apiKey.deleteMany({ where })
    await db.account.deleteMany({ where: { id: accountId } })
  },
})
