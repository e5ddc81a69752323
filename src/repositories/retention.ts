// What has done its work, in portions: a portion holds no lock for long. Each verb may be repeated.
import { Prisma } from '../../generated/prisma/client.ts'
import type { ArtifactFile } from '../domain/training-job.ts'
import type { Connection } from './database.ts'

type OldArtifact = { id: string; files: ArtifactFile[] }
type NeededArtifacts = { keptCheckpoints: number; brokenBefore: Date }
type OldBatch = { id: string; keys: string[] }

/** Never committed, or not what its manifest says. */
const isBroken = Prisma.raw('(a.committed_at is null or a.corrupt_at is not null)')

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

  /** Jobs after this one that may have artifacts which nothing can need, by id. */
  async jobsWithOldArtifacts(
    afterJobId: number,
    { keptCheckpoints, brokenBefore }: NeededArtifacts,
    limit: number,
  ): Promise<number[]> {
    const rows = await db.$queryRaw<{ jobId: number }[]>`
      select a.job_id as "jobId" from artifacts a join training_jobs j on j.id = a.job_id
      where a.job_id > ${afterJobId}
      group by a.job_id, j.status
      having count(*) filter (where a.kind = 'checkpoint') > ${keptCheckpoints}
        or (j.status = 'COMPLETED' and bool_or(a.kind = 'checkpoint'))
        or bool_or(${isBroken} and a.created_at < ${brokenBefore})
      order by a.job_id limit ${limit}`
    return rows.map(({ jobId }) => jobId)
  },

  /**
   * Those of a job that nothing can need: checkpoints beyond the newest usable ones, all of them once it is complete;
   * broken ones of either kind after a while, once their attempt can commit nothing any more. Never one that a model was
   * made from or that an attempt starts from.
   */
  oldArtifacts: (jobId: number, { keptCheckpoints, brokenBefore }: NeededArtifacts): Promise<OldArtifact[]> =>
    db.$queryRaw<OldArtifact[]>`
      with usable as (
        select id, row_number() over (order by step desc, committed_at desc) as place from artifacts
        where job_id = ${jobId} and kind = 'checkpoint' and committed_at is not null and corrupt_at is null)
      select a.id, a.files from artifacts a join training_jobs j on j.id = a.job_id left join usable on usable.id = a.id
      where a.job_id = ${jobId}
        and ((a.kind = 'checkpoint' and (usable.place > ${keptCheckpoints} or j.status = 'COMPLETED'))
          or (${isBroken} and a.created_at < ${brokenBefore} and not exists (
            select from attempts t where t.job_id = a.job_id and t.number = a.attempt and t.released_at is null)))
        and not exists (select from models m where m.artifact_id = a.id)
        and not exists (select from attempts t where t.job_id = a.job_id and t.released_at is null and t.from_artifact_id = a.id)`,

  /** From here on nothing is started from them. */
  async hideArtifacts(ids: readonly string[]) {
    await db.artifact.updateMany({ where: { id: { in: [...ids] }, corruptAt: null }, data: { corruptAt: new Date() } })
  },

  /** With what they answered: it is shown of published models alone. */
  async deleteArtifacts(ids: readonly string[]) {
    await db.evaluation.deleteMany({ where: { artifactId: { in: [...ids] } } })
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
