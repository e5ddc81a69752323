// Queries of the webhook sender. Only the worker that has claimed an endpoint sends to it. A transaction that locks both
// locks the endpoint before its deliveries.
import { Prisma } from '../../generated/prisma/client.ts'
import type { DeliveryAttempt, WebhookDelivery, WebhookEndpoint } from '../domain/webhook.ts'
import type { Connection } from './connection.ts'

/** `claim` distinguishes this claim from a later one. */
export type ClaimedEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'secrets'> & { claim: string }

/** Twice the time limit of a call. */
const claimSeconds = 30

export const createWebhookDeliveryRepository = (db: Connection) => ({
  /** Claims endpoints with due deliveries, the least recently served first. */
  claimEndpoints: (limit: number): Promise<ClaimedEndpoint[]> => db.$queryRaw`
    update webhook_endpoints set claimed_until = now() + make_interval(secs => ${claimSeconds})
    where id in (
      select id from webhook_endpoints
      where disabled_at is null and claimed_until <= now()
        and id in (select endpoint_id from webhook_deliveries where due_at <= now())
      order by claimed_until limit ${limit} for update skip locked)
    returning id, url, secrets, claimed_until::text as claim`,

  /** Returns each job's oldest due delivery, and replayed ones. */
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

  /** Releases the claim. A due delivery waits for an earlier one of its job that is due later. */
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

  /** Makes the job's next delivery due. */
  async markDelivered(id: string, endpointId: string, attempts: readonly DeliveryAttempt[]) {
    await db.$executeRaw`
      with ended as (
        update webhook_deliveries set state = 'delivered', due_at = null, attempts = ${JSON.stringify(attempts)}::jsonb
        where id = ${id}::uuid and state = 'pending' returning endpoint_id, job_id)
      ${callNext}`
    // This runs outside the transaction: a transaction that has locked a delivery must not wait for its endpoint.
    await db.$executeRaw`update webhook_endpoints set last_success_at = now() where id = ${endpointId}::uuid`
  },

  /**
   * Schedules the next try. After the retry window the delivery has failed, and the job's next one is due.
   * @returns whether the delivery has failed
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

/** Another worker may have delayed it when an earlier delivery failed. */
const callNext = Prisma.sql`
  update webhook_deliveries next set due_at = now() from ended
  where next.endpoint_id = ended.endpoint_id and next.job_id = ended.job_id and next.state = 'pending'
    and next.replayed_at is null and next.due_at > now()`
