import type { JobScores } from '../domain/model-evaluation.ts'
import { jobDisplayName, type NameParts } from '../domain/display-name.ts'
import { isModelId, parseModelReference } from '../domain/model-reference.ts'
import type { ListedModel, ModelPlace, TunedModel } from '../domain/training-job.ts'
import type { Connection } from './connection.ts'
import { nameColumns } from './name-columns.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

/** Sorts after every model. */
const endOfTime: ModelPlace = { createdMicros: String(Number.MAX_SAFE_INTEGER), name: '' }

export const createModelRepository = (db: Connection, run: RunStatement) => ({
  /** Finds a model by its id or by a reference to its custom name. One statement, so it sees one state of the aliases. */
  async find(accountId: string, reference: string): Promise<TunedModel | null> {
    const { name, tag } = parseModelReference(reference)
    const [version, alias] = [tag && 'version' in tag ? tag.version : null, tag && 'alias' in tag ? tag.alias : null]
    const [model] = await run<TunedModel>(findModel, [accountId, reference, name, version, alias])
    return model ?? null
  },

  /** The job of the model, of any account. */
  async jobOf(name: string): Promise<number | null> {
    return (await db.model.findUnique({ where: { name }, select: { jobId: true } }))?.jobId ?? null
  },

  /** Returns the names that exist, of any account. */
  async known(names: string[]): Promise<Set<string>> {
    const models = await db.model.findMany({ where: { name: { in: [...new Set(names)] } }, select: { name: true } })
    return new Set(models.map(({ name }) => name))
  },

  /** Maps the ids of the account's models to their names for people; other texts are absent. */
  async displayNames(accountId: string, names: readonly string[]): Promise<Map<string, string>> {
    const ids = [...new Set(names)].filter(isModelId)
    if (ids.length === 0) return new Map()
    const rows = await run<NameParts & { name: string }>(nameModels, [accountId, ids])
    return new Map(rows.map(({ name, ...parts }) => [name, jobDisplayName(parts)]))
  },

  /** Yields the account's models, newest first. */
  list(accountId: string, { after, limit }: { after: ModelPlace | null; limit: number }): Promise<ListedModel[]> {
    const { createdMicros, name } = after ?? endOfTime
    return run<ListedModel>(listModels, [accountId, createdMicros, name, limit])
  },

  /** Deletes the model, its artifact and its evaluation. The job then has no model. @returns false when it is gone */
  async delete({
    accountId,
    name,
    artifactId,
  }: Pick<TunedModel, 'accountId' | 'name' | 'artifactId'>): Promise<boolean> {
    const { count } = await db.model.deleteMany({ where: { accountId, name } })
    if (count === 0) return false
    await db.trainingJob.updateMany({ where: { modelName: name }, data: { modelName: null } })
    await db.evaluation.deleteMany({ where: { artifactId } })
    await db.artifact.deleteMany({ where: { id: artifactId } })
    return true
  },

  /** A model that was deleted meanwhile is left out. */
  async keepScores(name: string, scores: JobScores) {
    await db.model.updateMany({ where: { name }, data: { scores } })
  },

  /** A repeat changes nothing. */
  async publish(model: Omit<TunedModel, 'createdAt' | 'learned'>) {
    await db.model.createMany({ data: [model], skipDuplicates: true })
  },
})

const nameModels: Statement = {
  name: 'name-models',
  text: `
    select m.name, ${nameColumns('m.name')} from models m join training_jobs j on j.id = m.job_id
    where m.account_id = $1::uuid and m.name = any($2::text[])`,
}

const listModels = {
  name: 'list-models',
  text: `
    select m.name, m.base_model as "baseModel", m.created_at as "createdAt", j.prepared_data->'learned' as learned, ${nameColumns('m.name')},
      array(
        select v.name || '@' || v.version from model_versions v where v.model_name = m.name
        union all
        select a.name || '@' || a.alias from model_versions v join model_aliases a using (account_id, name, version)
        where v.model_name = m.name) as aliases,
      (extract(epoch from m.created_at) * 1000000)::bigint::text as "createdMicros"
    from models m join training_jobs j on j.id = m.job_id
    where m.account_id = $1::uuid
      and (m.created_at, m.name) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)
    order by m.created_at desc, m.name desc limit $4::int`,
}

/** Prepared, because every completion of a tuned model waits for it. */
const findModel = {
  name: 'find-model',
  text: `
    select name, account_id as "accountId", job_id as "jobId", artifact_id as "artifactId", base_model as "baseModel", files,
      created_at as "createdAt", (select prepared_data->'learned' from training_jobs where id = job_id) as learned
    from models where account_id = $1::uuid and name = coalesce(
      (select name from models where account_id = $1::uuid and name = $2::text),
      (select model_name from model_versions where account_id = $1::uuid and name = $3::text and version = $4::int),
      (select model_name from model_aliases join model_versions using (account_id, name, version)
        where account_id = $1::uuid and name = $3::text and alias = $5::text),
      (select v.model_name from model_versions v join training_jobs j on j.model_name = v.model_name
        where v.account_id = $1::uuid and v.name = $3::text and $4::int is null and $5::text is null
          and j.status = 'COMPLETED'
        order by v.version desc limit 1))`,
}
