import { notify } from './notifications.ts'
import type { Connection } from './database.ts'

/** A message to Temporal, committed with the change that it announces. */
export type OutboxMessage =
  | { workflowId: string; kind: 'start'; generation: number; payload: { jobId: number } }
  | { workflowId: string; kind: 'cancel'; generation: number; payload: { jobId: number } }
  | { workflowId: string; kind: 'phase'; generation: number; payload: { attempt: number; phase: string } }
  | { workflowId: string; kind: 'slot'; generation: number; payload: { attempt: number } }
  | { workflowId: string; kind: 'start-batch'; generation: 1; payload: { batchId: string } }
  | { workflowId: string; kind: 'start-evaluation'; generation: 1; payload: { evaluationId: string } }
  | { workflowId: string; kind: 'cancel-evaluation'; generation: 1; payload: { evaluationId: string } }
  | { workflowId: string; kind: 'start-export'; generation: 1; payload: { exportId: string } }
  | { workflowId: string; kind: 'wake-model-server'; generation: 0; payload: { baseModel: string } }

export type ClaimedMessage = OutboxMessage & { id: bigint; createdAt: Date; deliveryCount: number }

const claimSeconds = 30

export const createOutboxRepository = (db: Connection) => ({
  async add(message: OutboxMessage) {
    await db.outboxMessage.create({ data: message })
    await notify(db, 'outbox')
  },

  /**
   * Claims the oldest undelivered message of each workflow, which keeps the order within a workflow. New batches and evaluations
   * come last, and accounts take turns with them: thousands of one account hold up neither a command nor another account's
   * batch. What an account has beyond `runningBatches`, each of which may keep two calls of an engine busy, waits until one of
   * its batches ends. While another account has an open batch, half as many may run, so that both get a like part of the
   * workers, of Temporal and of the database. Evaluations wait in a line of their own, so that neither holds up the other: one
   * starts while the account's evaluations have room for the batch of a model.
   */
  async claim(limit: number, runningBatches: number): Promise<ClaimedMessage[]> {
    const rows = await db.$queryRaw<ClaimedMessage[]>`
      with due as materialized (
        select candidate.id, candidate.kind, coalesce(batch.account_id, evaluation.account_id) as account_id,
          coalesce(evaluation.model_count, 1) as batches
        from outbox_messages candidate
        left join inference_batches batch
          on candidate.kind = 'start-batch' and batch.id = (candidate.payload->>'batchId')::uuid
        left join model_evaluations evaluation
          on candidate.kind = 'start-evaluation' and evaluation.id = (candidate.payload->>'evaluationId')::uuid
        where delivered_at is null and claimed_until <= now() and not exists (
          select from outbox_messages earlier
          where earlier.workflow_id = candidate.workflow_id and earlier.id < candidate.id and earlier.delivered_at is null)),
      started as (
        select due.account_id, due.kind, case due.kind
          when 'start-evaluation' then (
            select coalesce(sum(model_count), 0) from model_evaluations open
            where open.account_id = due.account_id and finished_at is null)
          else (
            select count(*) from inference_batches open where open.account_id = due.account_id and open.state = 'running'
          ) - (
            select count(*) from model_evaluations evaluation
            cross join json_array_elements_text((evaluation.plan #>> '{}')::json->'batchIds') of_model (batch_id)
            join inference_batches open on open.id = of_model.batch_id::uuid and open.state = 'running'
            where evaluation.account_id = due.account_id and evaluation.finished_at is null)
          end - sum(batches) as count
        from due where account_id is not null group by due.account_id, due.kind),
      waiting as (
        select due.id, account_id is not null as "isBatch",
          sum(due.batches) over (partition by account_id, kind order by due.id) - due.batches + 1 + coalesce(started.count, 0) as turn
        from due left join started using (account_id, kind)),
      allowed as (
        select case
          when (select account_id from inference_batches where state = 'running' order by account_id limit 1)
            <> (select account_id from inference_batches where state = 'running' order by account_id desc limit 1)
          then greatest(1, ${runningBatches}::int / 2) else ${runningBatches}::int end as batches)
      update outbox_messages set claimed_until = now() + make_interval(secs => ${claimSeconds}), delivery_count = delivery_count + 1
      where id in (
        select id from outbox_messages
        where delivered_at is null and claimed_until <= now() and id in (
          select waiting.id from waiting cross join allowed
          where not "isBatch" or turn <= allowed.batches order by "isBatch", turn, waiting.id limit ${limit})
        for update skip locked)
      returning id, workflow_id as "workflowId", kind, generation, payload, created_at as "createdAt", delivery_count as "deliveryCount"`
    return rows
  },

  async markDelivered(id: bigint) {
    await db.$executeRaw`update outbox_messages set delivered_at = now(), last_error = null where id = ${id}`
  },

  async retryLater(id: bigint, { afterMs, error }: { afterMs: number; error: string }) {
    await db.$executeRaw`
      update outbox_messages set claimed_until = now() + make_interval(secs => ${afterMs / 1000}), last_error = ${error.slice(0, 1000)}
      where id = ${id}`
  },

  /** Time by the database's clock until the next claimed or failed message is due again; null when there is none. */
  async dueInMs(): Promise<number | null> {
    const [row] = await db.$queryRaw<{ due: number | null }[]>`
      select extract(epoch from min(claimed_until) - now())::float8 * 1000 as due from outbox_messages candidate
      where delivered_at is null and claimed_until > now() and not exists (
        select from outbox_messages earlier
        where earlier.workflow_id = candidate.workflow_id and earlier.id < candidate.id and earlier.delivered_at is null)`
    return row?.due ?? null
  },
})
