import type { StoredItem } from '../domain/stored-data.ts'
import type { Connection } from './connection.ts'
import { firstId, keysetPages } from './keyset-pages.ts'
import { notify } from './notifications.ts'

/** The rows that an account has stored under one id. */
export type Collection = { accountId: string; collection: string }
export type NewStoredRow = { hash: Uint8Array; item: StoredItem; text: string }

const claimSeconds = 30
/** The number of the lock under which rows are claimed. */
const claimLock = 4_713
const pageSize = 1000

export const createStoredRowRepository = (db: Connection) => ({
  /** Adds rows; existing rows stay as they are. */
  async add({ accountId, collection }: Collection, rows: readonly NewStoredRow[]) {
    const hashes = rows.map(({ hash }) => Buffer.from(hash).toString('hex'))
    const items = rows.map(({ item }) => JSON.stringify(item))
    const texts = rows.map(({ text }) => text)
    // Two requests with the same rows lock them in the order of their hashes, which avoids deadlocks.
    await db.$executeRaw`
      with added as (
        insert into stored_rows (id, account_id, collection, row_hash, row, text, created_at)
        select gen_random_uuid(), ${accountId}::uuid, ${collection}, decode(hash, 'hex'), item::jsonb, text,
          now() + at * interval '1 microsecond'
        from unnest(${hashes}::text[], ${items}::text[], ${texts}::text[]) with ordinality as sent(hash, item, text, at)
        order by hash
        on conflict (account_id, collection, row_hash) do nothing
        returning octet_length(row::text) + octet_length(text) as bytes)
      update accounts set stored_row_bytes = stored_row_bytes + (select sum(bytes) from added)
      where id = ${accountId}::uuid and exists (select from added)`
    await notify(db, 'stored_rows')
  },

  async exists({ accountId, collection }: Collection): Promise<boolean> {
    const rows = await db.$queryRaw<unknown[]>`
      select 1 from stored_rows where account_id = ${accountId}::uuid and collection = ${collection} limit 1`
    return rows.length > 0
  },

  /** The rows of the id that holds most. */
  async countOfFullest(accountId: string): Promise<number> {
    const [counted] = await db.$queryRaw<[{ count: number }]>`
      select coalesce(max(row_count), 0)::int as count from stored_collections where account_id = ${accountId}::uuid`
    return counted.count
  },

  async count({ accountId, collection }: Collection): Promise<number> {
    const [counted] = await db.$queryRaw<{ count: number }[]>`
      select row_count as count from stored_collections where account_id = ${accountId}::uuid and collection = ${collection}`
    return counted?.count ?? 0
  },

  /** @returns the number of deleted rows */
  async remove({ accountId, collection }: Collection): Promise<number> {
    const [removed] = await db.$queryRaw<{ count: number }[]>`
      with gone as (
        delete from stored_rows where account_id = ${accountId}::uuid and collection = ${collection}
        returning octet_length(row::text) + octet_length(text) as bytes),
      counted as (
        update accounts set stored_row_bytes = stored_row_bytes - (select sum(bytes) from gone)
        where id = ${accountId}::uuid and exists (select from gone))
      select count(*)::int as count from gone`
    return removed?.count ?? 0
  },

  /** Yields pages of the rows, oldest first. */
  async *pages({ accountId, collection }: Collection): AsyncGenerator<StoredItem[]> {
    const pages = keysetPages(
      { createdAt: '-infinity', id: firstId },
      pageSize,
      (after) =>
        db.$queryRaw<{ createdAt: string; id: string; row: StoredItem }[]>`
        select created_at::text as "createdAt", id::text, row from stored_rows
        where account_id = ${accountId}::uuid and collection = ${collection}
          and (created_at, id) > (${after.createdAt}::timestamptz, ${after.id}::uuid)
        order by stored_rows.created_at, stored_rows.id limit ${pageSize}`,
    )
    for await (const page of pages) yield page.map(({ row }) => row)
  },

  /**
   * Claims the oldest rows without an embedding of one account. The choice of the account is random, so that a large set
   * does not keep other accounts waiting. Claims take turns: a claim that begins while another ends would lock the rows of
   * the other for a moment, and setEmbeddings would skip them. Needs a transaction.
   */
  async claimWaiting(limit: number): Promise<{ id: string; accountId: string; text: string }[]> {
    await db.$executeRaw`select pg_advisory_xact_lock(${claimLock})`
    return db.$queryRaw`
    with recursive waiting(account_id) as (
      (select account_id from stored_rows where embedding is null and claimed_until <= now() order by account_id limit 1)
      union all
      select (
        select next.account_id from stored_rows next
        where next.embedding is null and next.claimed_until <= now() and next.account_id > waiting.account_id
        order by next.account_id limit 1)
      from waiting where waiting.account_id is not null),
    chosen as materialized (
      select account_id from waiting where account_id is not null order by random() limit 1),
    claimed as materialized (
      select id from stored_rows
      where embedding is null and claimed_until <= now() and account_id = (select account_id from chosen)
      order by created_at limit ${limit} for update skip locked)
    update stored_rows set claimed_until = now() + make_interval(secs => ${claimSeconds})
    where id in (select id from claimed)
    returning id::text, account_id as "accountId", text`
  },

  /**
   * Skips deleted rows, and rows that a deletion has locked: waiting for it could deadlock. If that deletion rolls back,
   * the row is claimed again after this claim.
   */
  async setEmbeddings(rows: readonly { id: string; vector: readonly number[] }[]) {
    await db.$executeRaw`
      with made as (
        select * from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ vector }) => vectorText(vector))}::text[])
          as made(id, vector)),
      free as materialized (
        select id from stored_rows where id in (select id from made) and embedding is null for update skip locked)
      update stored_rows set embedding = made.vector::vector(384) from made
      where stored_rows.id = made.id and stored_rows.id in (select id from free)`
  },

  async releaseClaims(ids: readonly string[]) {
    await db.$executeRaw`
      with free as materialized (
        select id from stored_rows where id = any(${ids}::uuid[]) and embedding is null for update skip locked)
      update stored_rows set claimed_until = now() where id in (select id from free)`
  },
})

const vectorText = (vector: readonly number[]) => `[${vector.join(',')}]`
