// Removes everything that belongs to an account. Every step may be repeated and holds at most a page of jobs in memory.
import { workKinds } from '../domain/durable-work.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import type { Connection } from './connection.ts'
import { createDurableWorkRepository } from './durable-work.ts'
import { requestBucketKey } from './rate-limits.ts'

export const createAccountDataRepository = (db: Connection) => ({
  /** Whether the account has an open job or an unreleased attempt. */
  async isBusy(accountId: string): Promise<boolean> {
    const open = await db.trainingJob.findFirst({
      where: { accountId, status: { in: openStatuses } },
      select: { id: true },
    })
    const unreleased =
      open ?? (await db.attempt.findFirst({ where: { accountId, releasedAt: null }, select: { id: true } }))
    return unreleased !== null
  },

  /** Ids of at most `limit` jobs in any state. */
  async someJobIds(accountId: string, limit: number): Promise<number[]> {
    const rows = await db.trainingJob.findMany({ where: { accountId }, select: { id: true }, take: limit })
    return rows.map(({ id }) => id)
  },

  /** Deletes ended jobs with all rows that refer to them. */
  async deleteJobs(ids: number[], workflowIds: string[]): Promise<number> {
    const jobs = { jobId: { in: ids } }
    await db.evaluation.deleteMany({ where: { artifact: jobs } })
    await db.model.deleteMany({ where: jobs })
    await db.artifact.deleteMany({ where: jobs })
    await db.grade.deleteMany({ where: jobs })
    await db.trainingStep.deleteMany({ where: jobs })
    await db.jobEvent.deleteMany({ where: jobs })
    await db.attempt.deleteMany({ where: jobs })
    await db.outboxMessage.deleteMany({ where: { workflowId: { in: workflowIds } } })
    return (await db.trainingJob.deleteMany({ where: { id: { in: ids } } })).count
  },

  /** Deletes the account and its other rows once its jobs are gone. The audit trail stays. */
  async deleteAccount(accountId: string) {
    const where = { accountId }
    await db.model.deleteMany({ where })
    await db.fileUpload.deleteMany({ where })
    await db.datasetVersion.deleteMany({ where })
    await db.storedRow.deleteMany({ where })
    for (const kind of workKinds) await createDurableWorkRepository(db).removeAll(kind, accountId)
    await db.eval.deleteMany({ where })
    await db.graderPod.deleteMany({ where })
    await db.storedResponse.deleteMany({ where })
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
