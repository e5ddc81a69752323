import { Prisma } from '../../generated/prisma/client.ts'
import type { TrainingJobStatus } from '../domain/training-job-status.ts'
import type {
  DeliveryAttempt,
  DisabledReason,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookSecret,
} from '../domain/webhook.ts'
import { retryWindowMs } from '../domain/webhook.ts'
import { notify } from './notifications.ts'
import type { Connection } from './connection.ts'

type NewWebhook = Pick<WebhookEndpoint, 'id' | 'accountId' | 'url' | 'description' | 'statuses' | 'secrets'>
type WebhookChanges = Partial<Pick<WebhookEndpoint, 'url' | 'description' | 'statuses' | 'secrets'>>

export const createWebhookRepository = (db: Connection) => ({
  create: async (webhook: NewWebhook): Promise<WebhookEndpoint> =>
    readWebhook(await db.webhookEndpoint.create({ data: webhook })),

  async find(accountId: string, id: string): Promise<WebhookEndpoint | null> {
    const row = await db.webhookEndpoint.findFirst({ where: { id, accountId } })
    return row && readWebhook(row)
  },

  /** Locks the row until the transaction ends. */
  async lock(accountId: string, id: string): Promise<WebhookEndpoint | null> {
    await db.$queryRaw`select from webhook_endpoints where id = ${id}::uuid and account_id = ${accountId}::uuid for update`
    return this.find(accountId, id)
  },

  /** Lists all endpoints of the account, newest first. */
  async list(accountId: string): Promise<WebhookEndpoint[]> {
    const orderBy = [{ createdAt: 'desc' as const }, { id: 'desc' as const }]
    return (await db.webhookEndpoint.findMany({ where: { accountId }, orderBy })).map(readWebhook)
  },

  async update(id: string, changes: WebhookChanges) {
    await db.webhookEndpoint.update({ where: { id }, data: changes })
  },

  /** Keeps waiting deliveries. @returns false when the endpoint is disabled or had a success within `quietMs` */
  async disable(id: string, reason: DisabledReason, { quietMs = 0 }: { quietMs?: number } = {}): Promise<boolean> {
    const disabled = await db.$queryRaw<unknown[]>`
      with disabled as (
        update webhook_endpoints set disabled_at = now(), disabled_reason = ${reason}
        where id = ${id}::uuid and disabled_at is null
          and (${quietMs === 0} or coalesce(last_success_at, '-infinity') <= now() - make_interval(secs => ${quietMs / 1000}))
        returning id),
      held as (
        update webhook_deliveries set due_at = null from disabled where endpoint_id = disabled.id and due_at is not null)
      select 1 from disabled`
    return disabled.length > 0
  },

  /** Makes waiting deliveries due now, with a new retry window. */
  async enable(id: string) {
    await db.webhookEndpoint.update({ where: { id }, data: { disabledAt: null, disabledReason: null } })
    await db.$executeRaw`
      update webhook_deliveries set ${dueNow} where endpoint_id = ${id}::uuid and state = 'pending'`
    await notify(db, 'webhooks')
  },

  /** Deletes the endpoint and its deliveries. */
  async delete(id: string) {
    await db.webhookEndpoint.deleteMany({ where: { id } })
    await db.webhookDelivery.deleteMany({ where: { endpointId: id } })
  },

  /** Lists the deliveries before `before`, newest first. */
  async listDeliveries(
    endpointId: string,
    { before, limit }: { before: bigint | null; limit: number },
  ): Promise<WebhookDelivery[]> {
    const rows = await db.webhookDelivery.findMany({
      where: { endpointId, ...(before === null ? {} : { sequence: { lt: before } }) },
      orderBy: { sequence: 'desc' },
      take: limit,
    })
    return rows.map(readDelivery)
  },

  /**
   * Makes a delivery due now, with a new retry window. A waiting one takes the waiting deliveries of its job with it, in
   * their order. @returns null when there is no such delivery
   */
  async replay(endpointId: string, id: string): Promise<WebhookDelivery | null> {
    const delivery = await db.webhookDelivery.findFirst({ where: { id, endpointId } })
    if (!delivery) return null
    const { state, jobId } = delivery
    if (state === 'pending')
      await db.$executeRaw`
        update webhook_deliveries set ${dueNow}
        where endpoint_id = ${endpointId}::uuid and job_id = ${jobId} and state = ${state}`
    else
      await db.$executeRaw`
        update webhook_deliveries set ${dueNow}, state = 'pending', replayed_at = now() where id = ${id}::uuid`
    await notify(db, 'webhooks')
    return readDelivery(await db.webhookDelivery.findUniqueOrThrow({ where: { id } }))
  },
})

const dueNow = Prisma.sql`
  due_at = now(), retry_until = now() + make_interval(secs => ${retryWindowMs / 1000}), try_count = 0`

/** The casts hold because only this file and the trigger write these columns. */
const readWebhook = ({
  claimedUntil: _claimedUntil,
  ...row
}: Prisma.WebhookEndpointGetPayload<object>): WebhookEndpoint => ({
  ...row,
  statuses: row.statuses as TrainingJobStatus[],
  secrets: row.secrets as WebhookSecret[],
  disabledReason: row.disabledReason as DisabledReason | null,
})

const readDelivery = ({ sequence, ...row }: Prisma.WebhookDeliveryGetPayload<object>): WebhookDelivery => ({
  id: row.id,
  sequence: String(sequence),
  jobId: row.jobId,
  status: row.status as TrainingJobStatus,
  statusReason: row.statusReason,
  modelName: row.modelName,
  attempt: row.attempt,
  createdAt: row.createdAt,
  state: row.state as WebhookDelivery['state'],
  dueAt: row.dueAt,
  tryCount: row.tryCount,
  attempts: row.attempts as DeliveryAttempt[],
})
