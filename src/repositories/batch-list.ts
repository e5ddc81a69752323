// The batches that requests have made, in one list whatever their kind. Batches of evaluations are left out.
import type { BatchStatus, ListedBatch } from '../domain/inference-batch.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

/** A page reads this many batches, then hands out a cursor: the work of a request does not grow with the account. */
const scannedBatches = 1000

type Page = { after: string | null; limit: number; statuses: readonly BatchStatus[] | null }

export const createBatchListRepository = (run: RunStatement) => ({
  /**
   * Finds batches, newest first. A page may hold fewer batches than the limit, and none, before the last page.
   * @param after the id of a batch of the account
   */
  async list(
    accountId: string,
    { after, limit, statuses }: Page,
  ): Promise<{ batches: ListedBatch[]; next: string | null }> {
    const [found] = await run<{ ids: string[] | null; scanned: number; last: string | null }>(
      after === null ? findFirst : findLater,
      [accountId, scannedBatches, limit, statuses, ...(after === null ? [] : [after])],
    )
    const ids = found?.ids ?? []
    const batches = await run<ListedBatch>(readBatches, [accountId, ids])
    if (ids.length === limit) return { batches, next: ids.at(-1) ?? null }
    return { batches, next: found?.scanned === scannedBatches ? found.last : null }
  },

  async find(accountId: string, id: string): Promise<ListedBatch | null> {
    const [batch] = await run<ListedBatch>(readBatches, [accountId, [id]])
    return batch ?? null
  },
})

const status = `
  case state when 'done' then 'COMPLETED' when 'failed' then upper(coalesce(end_reason, 'failed'))
    else case when granted_at is null then 'QUEUED' else 'RUNNING' end end`

const scan = (cursor: string) => `
  with scanned as materialized (
    select id, created_at, evaluation_id, ${status} as status from inference_batches
    where account_id = $1::uuid ${cursor} order by created_at desc, id desc limit $2::int),
  found as (
    select id, created_at from scanned where evaluation_id is null and ($4::text[] is null or status = any($4))
    order by created_at desc, id desc limit $3::int)
  select (select array_agg(id order by created_at desc, id desc) from found) as ids,
    (select count(*)::int from scanned) as scanned,
    (select id from scanned order by created_at, id limit 1) as last`

const findFirst: Statement = { name: 'find-batches', text: scan('') }
const findLater: Statement = {
  name: 'find-batches-after',
  text: scan(`and (created_at, id)
      < (select created_at, id from inference_batches where id = $5::uuid and account_id = $1::uuid)`),
}

/** Without the request, which may have megabytes. */
const readBatches: Statement = {
  name: 'read-batches',
  text: `
    select id, api_key_id as "apiKeyId", kind, model_name as "modelName", ${status} as status, message,
      item_count as "itemCount", done_count as "doneCount", failed_count as "failedCount",
      output_file_id as "outputFileId", error_file_id as "errorFileId", created_at as "createdAt",
      granted_at as "grantedAt", started_at as "startedAt", cancelled_at as "cancelledAt", finished_at as "finishedAt"
    from inference_batches where id = any($2::uuid[]) and account_id = $1::uuid and evaluation_id is null
    order by inference_batches.created_at desc, id desc`,
}
