// Custom names of tuned models: their versions, which a trigger on models numbers, and their aliases.
import { Prisma } from '../../generated/prisma/client.ts'
import type { ModelAlias, ModelVersion } from '../domain/training-job.ts'
import type { Connection } from './connection.ts'

export const createModelNameRepository = (db: Connection) => ({
  /** Locks the name until the transaction ends. @returns false when the account has no such name */
  async lock(accountId: string, name: string): Promise<boolean> {
    const rows = await db.$queryRaw<unknown[]>`
      select 1 from model_names where account_id = ${accountId}::uuid and name = ${name} for update`
    return rows.length > 0
  },

  async versionOf(modelName: string): Promise<{ name: string; version: number } | null> {
    return db.modelVersion.findUnique({ where: { modelName }, select: { name: true, version: true } })
  },

  /** Whether the name has a version. */
  async exists(accountId: string, name: string): Promise<boolean> {
    return (await db.modelVersion.findFirst({ where: { accountId, name }, select: { version: true } })) !== null
  },

  /** Describes any tuned model of the account. */
  async describe(accountId: string, modelName: string): Promise<ModelVersion | null> {
    const [row] = await db.$queryRaw<ModelVersion[]>`
      ${versionFields} where m.account_id = ${accountId}::uuid and m.name = ${modelName}`
    return row ?? null
  },

  /** Lists versions below `before`, newest first. */
  versions(
    accountId: string,
    name: string,
    { before, limit }: { before: number | null; limit: number },
  ): Promise<ModelVersion[]> {
    return db.$queryRaw<ModelVersion[]>`
      ${versionFields} where v.account_id = ${accountId}::uuid and v.name = ${name}
        and v.version < ${before ?? 2 ** 31 - 1}
      order by v.version desc limit ${limit}`
  },

  /** Lists all aliases of the name; they are few. */
  async aliases(accountId: string, name: string): Promise<ModelAlias[]> {
    const select = { alias: true, version: true, movedAt: true }
    return db.modelAlias.findMany({ where: { accountId, name }, orderBy: { alias: 'asc' }, select })
  },

  /** @returns the version's model, or null when there is no such version */
  async setAlias(accountId: string, name: string, alias: string, version: number): Promise<string | null> {
    const [row] = await db.$queryRaw<{ modelName: string }[]>`
      with target as (
        select model_name from model_versions
        where account_id = ${accountId}::uuid and name = ${name} and version = ${version}),
      moved as (
        insert into model_aliases (account_id, name, alias, version)
        select ${accountId}::uuid, ${name}, ${alias}, ${version}::int from target
        on conflict (account_id, name, alias) do update set version = excluded.version, moved_at = now())
      select model_name as "modelName" from target`
    return row?.modelName ?? null
  },

  /** @returns false when there is no such alias */
  async deleteAlias(accountId: string, name: string, alias: string): Promise<boolean> {
    return (await db.modelAlias.deleteMany({ where: { accountId, name, alias } })).count > 0
  },
})

const versionFields = Prisma.sql`
  select v.version, m.name as "modelName", m.job_id as "jobId", m.base_model as "baseModel", m.created_at as "createdAt",
    j.dataset_id as "datasetId", j.prepared_data->'learned' as learned, m.artifact_id as "artifactId", j.spec->'evaluation'->'graders' as graders, m.scores,
    case when j.model_name = m.name and j.status = 'COMPLETED' then j.status else 'PARTIALLY COMPLETED' end as status,
    (select count(*)::int from evaluations e where e.artifact_id = m.artifact_id) as "evaluatedRows",
    case when j.spec ? 'startFrom' then jsonb_build_object(
      'modelName', j.spec->'startFrom'->>'modelName', 'name', p.name, 'version', p.version) end as parent
  from models m join training_jobs j on j.id = m.job_id left join model_versions v on v.model_name = m.name
    left join model_versions p on p.model_name = j.spec->'startFrom'->>'modelName'
      and (p.account_id = j.account_id or j.imported_from is null)`
