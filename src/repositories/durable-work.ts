import { Prisma } from '../../generated/prisma/client.ts'
import { durableWork, workflowIdOf, type Work, type WorkKind } from '../domain/durable-work.ts'
import type { Connection } from './connection.ts'
import { isInMaintenance } from './installation.ts'
import { firstId, keysetPages } from './keyset-pages.ts'
import { notify } from './notifications.ts'
import { createOutboxRepository } from './outbox.ts'

const maxPageSize = 1000

const tableOf = (kind: WorkKind) => Prisma.raw(durableWork[kind].table)

type WorkStart = { accountId: string; accountName: string; input: object; summary: string; baseModel: string | null }

export const createDurableWorkRepository = (db: Connection) => ({
  /** Asks for a turn. Call after the row is created, in its transaction. */
  async wait() {
    await notify(db, 'work')
  },

  /**
   * Gives turns to waiting work, with its start message. Accounts take turns: each has the same number of places. Schedulers
   * that run at once share what is left. In maintenance no work begins. Needs a transaction. @returns how many were granted
   */
  async grant(kind: WorkKind, { places, limit }: { places: number; limit: number }): Promise<number> {
    const { table, workflowPrefix, places: taken } = durableWork[kind]
    const own = Prisma.raw(taken ?? '0')
    const rows = Prisma.raw(table)
    const count = await db.$executeRaw`
      with waiting as materialized (
        select id, account_id, created_at, ${own} as places from ${rows} where finished_at is null and granted_at is null),
      held as (
        select account_id, sum(${own}) as places from ${rows}
        where finished_at is null and granted_at is not null and account_id in (select account_id from waiting)
        group by account_id),
      line as (
        select waiting.id, waiting.created_at, coalesce(held.places, 0) + 1
          + sum(waiting.places) over (partition by account_id order by waiting.created_at, waiting.id) - waiting.places as turn
        from waiting left join held using (account_id)),
      allowed as (
        select case
          when (select account_id from inference_batches where state = 'running' order by account_id limit 1)
            <> (select account_id from inference_batches where state = 'running' order by account_id desc limit 1)
          then greatest(1, ${places}::int / 2) else ${places}::int end as places),
      granted as (
        update ${rows} set granted_at = now() where id in (
          select id from ${rows} where granted_at is null and id in (
            select line.id from line cross join allowed where turn <= allowed.places
              and not ${Prisma.raw(isInMaintenance)}
            order by turn, line.created_at, line.id limit ${limit})
          for update skip locked)
        returning id)
      insert into outbox_messages (workflow_id, kind, generation, payload)
      select ${workflowPrefix}::text || id, 'start-work', 1, jsonb_build_object('kind', ${kind}::text, 'id', id) from granted`
    if (count > 0) await notify(db, 'outbox')
    return count
  },

  /** Starts the workflow of granted work again. */
  startAgain: (work: Work) => tell(db, 'start-work', work),

  /** Ends the workflow of work whose row has ended. */
  cancel: (work: Work) => tell(db, 'cancel-work', work),

  /** Pages of granted work that is open and whose messages to Temporal are all delivered. */
  started: (kind: WorkKind, pageSize = maxPageSize): AsyncGenerator<{ id: string }[]> =>
    keysetPages(
      { id: firstId },
      pageSize,
      ({ id: after }) =>
        db.$queryRaw<{ id: string }[]>`
          select id from ${tableOf(kind)} work
          where finished_at is null and granted_at is not null and id > ${after}::uuid and not exists (
            select from outbox_messages message
            where message.workflow_id = ${durableWork[kind].workflowPrefix}::text || work.id and message.delivered_at is null)
          order by id limit ${pageSize}`,
    ),

  async isOpen({ kind, id }: Work): Promise<boolean> {
    const found = await db.$queryRaw<unknown[]>`
      select from ${tableOf(kind)} where id = ${id}::uuid and finished_at is null`
    return found.length > 0
  },

  /** Work that ended before then. */
  listOld: (kind: WorkKind, before: Date, limit: number): Promise<{ id: string; accountId: string }[]> =>
    db.$queryRaw`select id, account_id "accountId" from ${tableOf(kind)} where finished_at < ${before} limit ${limit}`,

  /** With its chunks. */
  async remove(kind: WorkKind, ids: readonly string[]) {
    await db.$executeRaw`delete from ${tableOf(kind)} where id = any(${[...ids]}::uuid[])`
  },

  /** Reads the account, the input and the labels with which a workflow starts. Null when the work has ended. */
  async startOf({ kind, id }: Work): Promise<WorkStart | null> {
    const { input, summary, baseModel } = durableWork[kind]
    const [found] = await db.$queryRaw<WorkStart[]>`
      select account_id as "accountId", (select name from accounts where id = account_id) as "accountName",
        ${Prisma.raw(input)} as input, ${Prisma.raw(summary)} as summary, ${Prisma.raw(baseModel ?? 'null::text')} as "baseModel"
      from ${tableOf(kind)} where id = ${id}::uuid and finished_at is null`
    return found ?? null
  },

  /** Removes the work of a deleted account with its messages. */
  async removeAll(kind: WorkKind, accountId: string) {
    await db.$executeRaw`
      delete from outbox_messages where kind in ('start-work', 'cancel-work') and payload->>'kind' = ${kind}
        and (payload->>'id')::uuid in (select id from ${tableOf(kind)} where account_id = ${accountId}::uuid)`
    await db.$executeRaw`delete from ${tableOf(kind)} where account_id = ${accountId}::uuid`
  },
})

const tell = (db: Connection, kind: 'start-work' | 'cancel-work', work: Work) =>
  createOutboxRepository(db).add({ workflowId: workflowIdOf(work), kind, generation: 1, payload: work })
