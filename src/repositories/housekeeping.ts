// What has done its work, in portions: a portion holds no lock for long. Each verb may be repeated.
import { Prisma } from '../../generated/prisma/client.ts'
import type { ArtifactFile } from '../domain/training-job.ts'
import type { Connection } from './database.ts'

type OldArtifact = { id: string; files: ArtifactFile[] }
type OldBatch = { id: string; keys: string[] }

export const createHousekeepingRepository = (db: Connection) => ({
  /** @returns how many */
  deleteDeliveredMessages: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from outbox_messages where id in (
        select id from outbox_messages where delivered_at < ${before} limit ${limit} for update skip locked)`,

  /** Whatever became of them. @returns how many */
  deleteWebhookDeliveries: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from webhook_deliveries where id in (
        select id from webhook_deliveries where created_at < ${before} limit ${limit} for update skip locked)`,

  /** @returns how many */
  deleteIdempotencyKeys: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from idempotency_keys where (account_id, key) in (
        select account_id, key from idempotency_keys where created_at < ${before} limit ${limit} for update skip locked)`,

  /** Of processes that are long gone. @returns how many */
  deleteUsageWriters: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from usage_writers where id in (
        select id from usage_writers where written_at < ${before} limit ${limit} for update skip locked)`,

  /** Jobs after this one with more checkpoints than they need, by id. */
  async jobsWithOldCheckpoints(afterJobId: number, kept: number, limit: number): Promise<number[]> {
    const rows = await db.$queryRaw<{ jobId: number }[]>`
      select a.job_id as "jobId" from artifacts a join training_jobs j on j.id = a.job_id
      where a.kind = 'checkpoint' and a.job_id > ${afterJobId}
      group by a.job_id, j.status having count(*) > ${kept} or j.status = 'COMPLETED'
      order by a.job_id limit ${limit}`
    return rows.map(({ jobId }) => jobId)
  },

  /**
   * Checkpoints of a job that nothing can need: beyond the newest `kept` usable ones, all of them once it is complete,
   * broken ones after a while. Never one that a model was made from or that an attempt starts from.
   */
  oldCheckpoints: (jobId: number, kept: number, brokenBefore: Date): Promise<OldArtifact[]> =>
    db.$queryRaw<OldArtifact[]>`
      with usable as (
        select id, row_number() over (order by step desc, committed_at desc) as place from artifacts
        where job_id = ${jobId} and kind = 'checkpoint' and committed_at is not null and corrupt_at is null)
      select a.id, a.files from artifacts a join training_jobs j on j.id = a.job_id left join usable on usable.id = a.id
      where a.job_id = ${jobId} and a.kind = 'checkpoint'
        and (usable.place > ${kept} or j.status = 'COMPLETED' or (usable.id is null and a.created_at < ${brokenBefore}))
        and not exists (select from models m where m.artifact_id = a.id)
        and not exists (select from attempts t where t.job_id = a.job_id and t.released_at is null and t.from_artifact_id = a.id)`,

  /** From here on nothing is started from them. */
  async hideArtifacts(ids: readonly string[]) {
    await db.artifact.updateMany({ where: { id: { in: [...ids] }, corruptAt: null }, data: { corruptAt: new Date() } })
  },

  async deleteArtifacts(ids: readonly string[]) {
    await db.artifact.deleteMany({ where: { id: { in: [...ids] } } })
  },

  /** Ended before then, with what they have in the object store. */
  async oldBatches(before: Date, limit: number): Promise<OldBatch[]> {
    const rows = await db.inferenceBatch.findMany({
      where: { finishedAt: { lt: before } },
      select: { id: true, promptsKey: true, resultKey: true },
      take: limit,
    })
    return rows.map(({ id, promptsKey, resultKey }) => ({ id, keys: [promptsKey, ...(resultKey ? [resultKey] : [])] }))
  },

  /** With their chunks. */
  async deleteBatches(ids: readonly string[]) {
    await db.$executeRaw(Prisma.sql`delete from inference_batches where id = any(${[...ids]}::uuid[])`)
  },
})
