// The log of deliveries, and their replay.
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { WebhookDelivery } from '../../domain/webhook.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findWebhook, webhookNotFound } from './endpoints.ts'

/** Newest first. @throws ServiceError not_found, invalid_input */
export async function listDeliveries({
  ctx,
  input: { id, after, limit },
}: {
  ctx: Ctx
  input: { id: string; after?: string | undefined; limit: number }
}): Promise<{ deliveries: WebhookDelivery[]; next: string | null }> {
  await findWebhook(ctx, id)
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  const before = after === undefined ? null : BigInt(after)
  const deliveries = await ctx.deps.database.webhooks.listDeliveries(id, { before, limit })
  return { deliveries, next: deliveries.length === limit ? (deliveries.at(-1)?.sequence ?? null) : null }
}

/** Sends the same event under the same webhook-id, at once. @throws ServiceError not_found, conflict while its endpoint is disabled */
export async function replayDelivery({
  ctx,
  input: { id, deliveryId },
}: {
  ctx: Ctx
  input: { id: string; deliveryId: string }
}): Promise<WebhookDelivery> {
  return ctx.deps.database.transaction(async (tx) => {
    const webhook = await tx.webhooks.lock(ctx.accountId, id)
    if (!webhook) throw webhookNotFound(id)
    if (webhook.disabledAt) throw new ServiceError('conflict', `Webhook ${id} is disabled. Enable it first.`)
    const delivery = await tx.webhooks.replay(id, deliveryId)
    if (!delivery) throw new ServiceError('not_found', `Webhook ${id} has no delivery ${deliveryId}.`)
    await recordAudit(tx, ctx, 'webhook.replay', `${id} ${deliveryId}`)
    return delivery
  })
}
