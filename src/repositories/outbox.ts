import type { Work } from '../domain/durable-work.ts'
import type { Connection } from './connection.ts'
import { notify } from './notifications.ts'

/** A message to Temporal, committed with the change that it announces. */
export type OutboxMessage =
  | { workflowId: string; kind: 'start'; generation: number; payload: { jobId: number } }
  | { workflowId: string; kind: 'cancel'; generation: number; payload: { jobId: number } }
  | { workflowId: string; kind: 'phase'; generation: number; payload: { attempt: number; phase: string } }
  | { workflowId: string; kind: 'slot'; generation: number; payload: { attempt: number } }
  | { workflowId: string; kind: 'start-work' | 'cancel-work'; generation: 1; payload: Work }
  | { workflowId: string; kind: 'wake-model-server'; generation: 0; payload: { baseModel: string } }

export type ClaimedMessage = OutboxMessage & { id: bigint; createdAt: Date; deliveryCount: number }

const claimSeconds = 30

export const createOutboxRepository = (db: Connection) => ({
  async add(message: OutboxMessage) {
    await db.outboxMessage.create({ data: message })
    await notify(db, 'outbox')
  },

  /** Claims the oldest undelivered message of each workflow, which keeps the order within a workflow. */
  async claim(limit: number): Promise<ClaimedMessage[]> {
    return db.$queryRaw<ClaimedMessage[]>`
      update outbox_messages set claimed_until = now() + make_interval(secs => ${claimSeconds}), delivery_count = delivery_count + 1
      where id in (
        select id from outbox_messages candidate
        where delivered_at is null and claimed_until <= now() and not exists (
          select from outbox_messages earlier
          where earlier.workflow_id = candidate.workflow_id and earlier.id < candidate.id and earlier.delivered_at is null)
        order by id limit ${limit} for update skip locked)
      returning id, workflow_id as "workflowId", kind, generation, payload, created_at as "createdAt", delivery_count as "deliveryCount"`
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
