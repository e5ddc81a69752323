import type { PricedParts, UsageAmount, UsageDimension, UsageEntry } from '../domain/usage.ts'
import type { Connection } from './connection.ts'

/** A dimension is '' when it is not grouped by. `apiKeyId` is '' for work without a key. */
export type UsageGroup = { day: string; key: string; model: string }
export type UsageLine = UsageGroup & UsageAmount & PricedParts

/** `writer` is a process, which numbers its batches from 1. */
export type UsageBatch = { writer: string; batch: number; entries: readonly Omit<UsageEntry, 'trainingSeconds'>[] }

type UsageQuery = {
  /** The first day, and the day after the last. */
  from: string
  to: string
  by: readonly UsageDimension[]
  embeddingModels: readonly string[]
  after: UsageGroup | null
  limit: number
}

export const createUsageRepository = (db: Connection) => ({
  /** Adds a batch; a repeat of a writer's last batch adds nothing. Skips deleted accounts. */
  async add({ writer, batch, entries }: UsageBatch) {
    const all = <T>(read: (entry: (typeof entries)[number]) => T) => entries.map(read)
    // Key order in every process avoids deadlocks.
    await db.$executeRaw`
      with turn as (
        insert into usage_writers as old (id, batch) values (${writer}::uuid, ${batch}::int)
        on conflict (id) do update set batch = excluded.batch, written_at = now() where old.batch < excluded.batch
        returning id)
      insert into usage_days as old (account_id, day, api_key_id, model, prompts, prompt_tokens, completion_tokens, engine_seconds, gpu_seconds)
      select new.* from turn cross join unnest(
        ${all(({ accountId }) => accountId)}::uuid[], ${all(({ day }) => day)}::date[], ${all(({ apiKeyId }) => apiKeyId ?? '')}::text[],
        ${all(({ model }) => model)}::text[], ${all(({ prompts }) => prompts)}::bigint[], ${all(({ promptTokens }) => promptTokens)}::bigint[],
        ${all(({ completionTokens }) => completionTokens)}::bigint[], ${all(({ engineSeconds }) => engineSeconds)}::float8[],
        ${all(({ gpuSeconds }) => gpuSeconds)}::float8[]) as new (account_id, day, api_key_id, model)
      join accounts on accounts.id = new.account_id
      order by new.account_id, new.day, new.api_key_id, new.model
      on conflict (account_id, day, api_key_id, model) do update set
        prompts = old.prompts + excluded.prompts,
        prompt_tokens = old.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = old.completion_tokens + excluded.completion_tokens,
        engine_seconds = old.engine_seconds + excluded.engine_seconds,
        gpu_seconds = old.gpu_seconds + excluded.gpu_seconds`
  },

  /** Ordered by day, key and model. */
  list: (accountId: string, { from, to, by, embeddingModels, after, limit }: UsageQuery): Promise<UsageLine[]> =>
    db.$queryRaw<UsageLine[]>`
      with lines as (
        select case when ${by.includes('day')} then to_char(day, 'YYYY-MM-DD') else '' end as day,
          case when ${by.includes('key')} then api_key_id else '' end as key,
          case when ${by.includes('model')} then model else '' end as model,
          sum(prompts)::float8 as "prompts", sum(prompt_tokens)::float8 as "promptTokens",
          sum(completion_tokens)::float8 as "completionTokens", sum(engine_seconds) as "engineSeconds",
          sum(training_seconds) as "trainingSeconds", sum(gpu_seconds) as "gpuSeconds",
          sum(training_gpu_seconds) as "trainingGpuSeconds",
          coalesce(sum(prompt_tokens) filter (where model = any(${[...embeddingModels]}::text[])), 0)::float8 as "embeddedTokens"
        from usage_days where account_id = ${accountId}::uuid and day >= ${from}::date and day < ${to}::date
        group by 1, 2, 3)
      select * from lines
      where ${after === null} or (day, key, model) > (${after?.day ?? ''}, ${after?.key ?? ''}, ${after?.model ?? ''})
      order by day, key, model limit ${limit}`,
})
