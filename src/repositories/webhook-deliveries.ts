// What the workers that send webhooks ask and note. A worker that holds an endpoint is the only one that sends there.
// Whoever locks both takes the endpoint first, then its deliveries.
import { Prisma } from '../../generated/prisma/client.ts'
import type { DeliveryAttempt, WebhookDelivery, WebhookEndpoint } from '../domain/webhook.ts'
import type { Connection } from './database.ts'

/** `claim` tells this claim from a later one. */
export type ClaimedEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'secrets'> & { claim: string }

/** Twice as long as a call may take. */
const claimSeconds = 30

export const createWebhookDeliveryRepository = (db: Connection) => ({
  /** Endpoints with something due that nobody else holds, the one that was served longest ago first. */
  claimEndpoints: (limit: number): Promise<ClaimedEndpoint[]> => db.$queryRaw`
    update webhook_endpoints set claimed_until = now() + make_interval(secs => ${claimSeconds})
    where id in (
      select id from webhook_endpoints
      where disabled_at is null and claimed_until <= now()
        and id in (select endpoint_id from webhook_deliveries where due_at <= now())
      order by claimed_until limit ${limit} for update skip locked)
    returning id, url, secrets, claimed_until::text as claim`,

  /** The oldest of each job, or one that is replayed. */
  listDue: (endpointId: string, limit: number): Promise<WebhookDelivery[]> => db.$queryRaw`
    select id, sequence::text, job_id as "jobId", status, status_reason as "statusReason", model_name as "modelName",
      attempt, created_at as "createdAt", state, due_at as "dueAt", try_count as "tryCount", attempts
    from webhook_deliveries d
    where endpoint_id = ${endpointId}::uuid and due_at <= now() and (replayed_at is not null or not exists (
      select from webhook_deliveries earlier
      where earlier.endpoint_id = d.endpoint_id and earlier.job_id = d.job_id and earlier.state = 'pending'
        and earlier.replayed_at is null and earlier.sequence < d.sequence))
    order by due_at limit ${limit}`,

  async release({ id, claim }: ClaimedEndpoint) {
    await db.$executeRaw`
      update webhook_endpoints set claimed_until = now() where id = ${id}::uuid and claimed_until = ${claim}::timestamptz`
  },

  /** The same, once nothing else is due: what waits behind an event of its job that is tried again later waits until then. */
  async releaseAndPutOff({ id, claim }: ClaimedEndpoint) {
    await db.$executeRaw`
      with released as (
        update webhook_endpoints set claimed_until = now()
        where id = ${id}::uuid and claimed_until = ${claim}::timestamptz returning id)
      update webhook_deliveries d set due_at = first.due_at
      from released, webhook_deliveries blocked, lateral (
        select due_at from webhook_deliveries earlier
        where earlier.endpoint_id = blocked.endpoint_id and earlier.job_id = blocked.job_id and earlier.state = 'pending'
          and earlier.replayed_at is null and earlier.sequence < blocked.sequence
        order by earlier.sequence limit 1) first
      where blocked.endpoint_id = released.id and blocked.due_at <= now() and blocked.replayed_at is null
        and first.due_at > now() and d.id = blocked.id`
  },

  /** The next event of its job is due. */
  async markDelivered(id: string, endpointId: string, attempts: readonly DeliveryAttempt[]) {
    await db.$executeRaw`
      with ended as (
        update webhook_deliveries set state = 'delivered', due_at = null, attempts = ${JSON.stringify(attempts)}::jsonb
        where id = ${id}::uuid and state = 'pending' returning endpoint_id, job_id)
      ${callNext}`
    // By itself: a transaction that holds a delivery must not wait for its endpoint.
    await db.$executeRaw`update webhook_endpoints set last_success_at = now() where id = ${endpointId}::uuid`
  },

  /**
   * Tried again after the delay, and for the last time when its time is over; then the next event of its job is due.
   * @returns whether that is so
   */
  async markFailed(
    id: string,
    { attempts, delayMs }: { attempts: readonly DeliveryAttempt[]; delayMs: number },
  ): Promise<boolean> {
    const ended = await db.$queryRaw<unknown[]>`
      with tried as (
        update webhook_deliveries set attempts = ${JSON.stringify(attempts)}::jsonb, try_count = try_count + 1,
          state = case when retry_until <= now() then 'failed' else 'pending' end,
          due_at = case when retry_until > now() then least(now() + make_interval(secs => ${delayMs / 1000}), retry_until) end
        where id = ${id}::uuid and state = 'pending' returning endpoint_id, job_id, state),
      ended as (
        select endpoint_id, job_id from tried where state = 'failed'),
      next as (${callNext})
      select 1 from ended`
    return ended.length > 0
  },
})

/** It may have been put off by a worker that saw the one before it fail. */
const callNext = Prisma.sql`
  update webhook_deliveries next set due_at = now() from ended
  where next.endpoint_id = ended.endpoint_id and next.job_id = ended.job_id and next.state = 'pending'
    and next.replayed_at is null and next.due_at > now()`
