// Two secrets sign side by side while a receiver is given the new one.
import { ServiceError } from '../../domain/service-error.ts'
import { liveSecrets, webhookSecret, type WebhookEndpoint } from '../../domain/webhook.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { findWebhook, newSecret, webhookNotFound } from './endpoints.ts'

/**
 * Adds a new secret. The old one also signs for `overlapSeconds`, or until it is removed when that is null.
 * @throws ServiceError not_found, conflict while two are live
 */
export async function rotateSecret({
  ctx,
  input: { id, overlapSeconds },
  idempotency,
}: {
  ctx: Ctx
  input: { id: string; overlapSeconds: number | null }
  idempotency: Idempotency
}): Promise<{ webhook: WebhookEndpoint; secret: string }> {
  const { database, settings } = ctx.deps
  const { secretId } = await once<{ secretId: string }>(ctx, idempotency, (answer) =>
    database.transaction(async (tx) => {
      const webhook = await tx.webhooks.lock(ctx.accountId, id)
      if (!webhook) throw webhookNotFound(id)
      const [old, ...older] = liveSecrets(webhook.secrets)
      if (old === undefined || older.length > 0)
        throw new ServiceError(
          'conflict',
          `Webhook ${id} has two secrets. Remove one, or wait until the old one expires.`,
        )
      const expiresAt = overlapSeconds === null ? null : new Date(Date.now() + overlapSeconds * 1000).toISOString()
      const secret = newSecret()
      await tx.webhooks.update(id, { secrets: [secret, { ...old, expiresAt }] })
      await recordAudit(tx, ctx, 'webhook.rotate', `${id} ${secret.id}`)
      return answer(tx, { secretId: secret.id })
    }),
  )
  return { webhook: await findWebhook(ctx, id), secret: webhookSecret(settings.secret, secretId) }
}

/** The removed secret signs nothing more; the remaining one does not expire. @throws ServiceError not_found, conflict for the only one */
export async function removeSecret({
  ctx,
  input: { id, secretId },
}: {
  ctx: Ctx
  input: { id: string; secretId: string }
}): Promise<WebhookEndpoint> {
  return ctx.deps.database.transaction(async (tx) => {
    const webhook = await tx.webhooks.lock(ctx.accountId, id)
    if (!webhook) throw webhookNotFound(id)
    const live = liveSecrets(webhook.secrets)
    const left = live.filter((secret) => secret.id !== secretId)
    if (left.length === live.length) throw new ServiceError('not_found', `Webhook ${id} has no secret ${secretId}.`)
    if (left.length === 0) throw new ServiceError('conflict', 'This is the only secret. Rotate it first.')
    const secrets = left.map((secret) => ({ ...secret, expiresAt: null }))
    await tx.webhooks.update(id, { secrets })
    await recordAudit(tx, ctx, 'webhook.remove_secret', `${id} ${secretId}`)
    return { ...webhook, secrets }
  })
}
