// Deletes old rows in portions, so that no lock is held for long. Each function may be repeated.
import { Prisma } from '../../generated/prisma/client.ts'
import { rolloutFiles } from '../domain/rollouts.ts'
import type { ArtifactFile } from '../domain/training-job.ts'
import type { Connection } from './connection.ts'

type OldArtifact = { id: string; files: ArtifactFile[] }
type OldPolicy = OldArtifact & { jobId: number; step: number; baseModel: string }
type NeededArtifacts = { keptCheckpoints: number; brokenBefore: Date }
type UnneededData = { id: number; keys: string[] }

/** The artifact was never committed, or differs from its manifest. A policy goes by `oldPolicies`, once it is unloaded. */
const isBroken = Prisma.raw(`(a.kind <> 'policy' and (a.committed_at is null or a.corrupt_at is not null))`)

/** A complete job needs no resume. */
const checkpointsToKeep = (forResume: number) => Prisma.sql`
  greatest((j.spec->'args'->>'keep_checkpoints')::int,
    case when j.status = 'COMPLETED' then 0 else ${forResume}::int end)`

/** Their times. Console sessions include links that nobody opened, webhook deliveries those that failed. */
const agingTables = {
  outbox_messages: 'delivered_at',
  webhook_deliveries: 'created_at',
  idempotency_keys: 'created_at',
  console_sessions: 'expires_at',
  audit_events: 'at',
  stored_responses: 'created_at',
  usage_writers: 'written_at',
} as const
type AgingTable = keyof typeof agingTables

export const createRetentionRepository = (db: Connection) => ({
  /** Rows that go by a time alone. @returns the number of deleted rows */
  deleteOld(table: AgingTable, before: Date, limit: number): Promise<number> {
    const [rows, time] = [Prisma.raw(table), Prisma.raw(agingTables[table])]
    return db.$executeRaw`
      delete from ${rows} where ctid = any(array(
        select ctid from ${rows} where ${time} < ${before} limit ${limit} for update skip locked))`
  },

  /**
   * Keys that were revoked or have expired, and that nothing names: neither a key that they made nor usage. The first key of an
   * account stays, because the api makes a missing first key again when it starts. @returns the number of deleted rows
   */
  deleteEndedKeys: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from api_keys where id in (
        select k.id from api_keys k where least(k.revoked_at, k.expires_at) < ${before}
          and not exists (select from api_keys made where made.maker_key_id = k.id)
          and not exists (select from usage_days u where u.api_key_id = k.id)
          and exists (select from api_keys older where older.account_id = k.account_id and older.created_at < k.created_at)
        limit ${limit} for update of k skip locked)`,

  /** Trackers of jobs that ended before then. @returns the number of deleted rows */
  deleteTrackers: (before: Date, limit: number): Promise<number> =>
    db.$executeRaw`
      delete from job_trackers where id in (
        select t.id from job_trackers t join training_jobs j on j.id = t.job_id
        where j.finished_at < ${before} limit ${limit} for update of t skip locked)`,

  /**
   * Locks jobs whose prepared rows are no longer needed: every job that uses these rows, the locked one or another that shares
   * them, has ended before `before`.
   */
  holdUnneededData: (before: Date, limit: number): Promise<UnneededData[]> =>
    db.$queryRaw<UnneededData[]>`
      select j.id, array_remove(array[j.prepared_data->'train'->>'key', j.prepared_data->'train'->'lines'->>'key',
        j.prepared_data->'evaluation'->>'key', j.prepared_data->'evaluation'->'lines'->>'key',
        j.prepared_data->'skipped'->>'key'], null) as keys
      from training_jobs j
      where j.finished_at < ${before} and j.prepared_data is not null and j.data_removed_at is null
        and not exists (
          select from training_jobs o
          where o.dataset_version_id = j.dataset_version_id and o.id <> j.id and o.data_removed_at is null
            and o.prepared_data->'train'->>'key' = j.prepared_data->'train'->>'key'
            and (o.finished_at is null or o.finished_at >= ${before}))
      limit ${limit} for update of j skip locked`,

  async markDataRemoved(ids: number[]) {
    await db.$executeRaw`update training_jobs set data_removed_at = now() where id = any(${ids})`
  },

  /** Ids, after this one, of jobs that may have artifacts which are no longer needed. */
  async jobsWithOldArtifacts(
    afterJobId: number,
    { keptCheckpoints, brokenBefore }: NeededArtifacts,
    limit: number,
  ): Promise<number[]> {
    const rows = await db.$queryRaw<{ jobId: number }[]>`
      select a.job_id as "jobId" from artifacts a join training_jobs j on j.id = a.job_id
      where a.job_id > ${afterJobId}
      group by a.job_id, j.id
      having count(*) filter (where a.kind = 'checkpoint') > ${checkpointsToKeep(keptCheckpoints)}
        or bool_or(${isBroken} and a.created_at < ${brokenBefore})
      order by a.job_id limit ${limit}`
    return rows.map(({ jobId }) => jobId)
  },

  /**
   * Artifacts of a job that are no longer needed: checkpoints beyond the newest usable ones that its `keep_checkpoints` or a
   * resume needs, and old broken artifacts whose attempt is released. Never one that a model was made from or an attempt starts from.
   */
  oldArtifacts: (jobId: number, { keptCheckpoints, brokenBefore }: NeededArtifacts): Promise<OldArtifact[]> =>
    db.$queryRaw<OldArtifact[]>`
      with usable as (
        select id, row_number() over (order by step desc, committed_at desc) as place from artifacts
        where job_id = ${jobId} and kind = 'checkpoint' and committed_at is not null and corrupt_at is null)
      select a.id, a.files from artifacts a join training_jobs j on j.id = a.job_id left join usable on usable.id = a.id
      where a.job_id = ${jobId}
        and ((a.kind = 'checkpoint' and usable.place > ${checkpointsToKeep(keptCheckpoints)})
          or (${isBroken} and a.created_at < ${brokenBefore} and not exists (
            select from attempts t where t.job_id = a.job_id and t.number = a.attempt and t.released_at is null)))
        and not exists (select from models m where m.artifact_id = a.id)
        and not exists (select from attempts t where t.job_id = a.job_id and t.released_at is null and t.from_artifact_id = a.id)`,

  /**
   * Rollouts of jobs that ended as long ago as they keep theirs. A job that may be resumed keeps those after its newest checkpoint:
   * with them, the resume repeats its steps exactly.
   */
  oldRollouts: (dayMs: number, limit: number): Promise<OldArtifact[]> =>
    db.$queryRaw<OldArtifact[]>`
      select a.id, a.files from artifacts a join training_jobs j on j.id = a.job_id,
        lateral (select j.spec->'method'->'hyperparameters' as knobs) method
      where a.kind = 'rollouts' and a.committed_at is not null
        and j.finished_at < now() - coalesce((knobs->>'keep_rollouts')::float8, 7) * ${dayMs}::float8 * interval '1 millisecond'
        and (j.status = 'COMPLETED' or a.step + coalesce((knobs->>'num_iterations')::int, 1) - 1 <= (
          select max(c.step) from artifacts c
          where c.job_id = a.job_id and c.kind = 'checkpoint' and c.committed_at is not null and c.corrupt_at is null))
      limit ${limit}`,

  /**
   * Policies, after this id, from which no answer is sampled any more: the answers of a later step are committed, or a later
   * policy, or the job's model, or the job has ended. Hidden ones, and uploads of them that a kill left, too.
   * @param jobId null for all jobs
   */
  oldPolicies: (jobId: number | null, afterId: string, limit: number): Promise<OldPolicy[]> =>
    db.$queryRaw<OldPolicy[]>`
      select a.id, a.job_id as "jobId", a.step, a.files, j.base_model as "baseModel"
      from artifacts a join training_jobs j on j.id = a.job_id
      where a.kind = 'policy' and a.id > ${afterId}::uuid
        ${jobId === null ? Prisma.empty : Prisma.sql`and a.job_id = ${jobId}`}
        and (j.finished_at is not null or a.corrupt_at is not null or exists (
          select from artifacts o where o.job_id = a.job_id and o.committed_at is not null
            and (o.kind = 'model' or (o.step > a.step
              and (o.kind = 'policy' or (o.kind = 'rollouts' and o.files->0->>'name' = ${rolloutFiles.train.samples}))))))
      order by a.id limit ${limit}`,

  /** No attempt starts from a hidden artifact. */
  async hideArtifacts(ids: readonly string[]) {
    await db.artifact.updateMany({ where: { id: { in: [...ids] }, corruptAt: null }, data: { corruptAt: new Date() } })
  },

  /** Deletes their evaluation results too: only those of published models are shown. */
  async deleteArtifacts(ids: readonly string[]) {
    await db.evaluation.deleteMany({ where: { artifactId: { in: [...ids] } } })
    await db.artifact.deleteMany({ where: { id: { in: [...ids] } } })
  },
})
