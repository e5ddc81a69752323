// An account's endpoints. Each change is one transaction with its audit event.
import { randomUUID } from 'node:crypto'
import { ServiceError } from '../../domain/service-error.ts'
import type { TrainingJobStatus } from '../../domain/training-job-status.ts'
import { webhookSecret, type WebhookEndpoint, type WebhookSecret } from '../../domain/webhook.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { callableUrl } from './exchange.ts'

export const maxEndpoints = 20

export const webhookNotFound = (id: string) => new ServiceError('not_found', `There is no webhook ${id}.`)

export const newSecret = (): WebhookSecret => ({
  id: randomUUID(),
  createdAt: new Date().toISOString(),
  expiresAt: null,
})

/** @throws ServiceError not_found */
export async function findWebhook({ deps, accountId }: Ctx, id: string): Promise<WebhookEndpoint> {
  const webhook = await deps.database.webhooks.find(accountId, id)
  if (!webhook) throw webhookNotFound(id)
  return webhook
}

/** Newest first. */
export const listWebhooks = ({ ctx: { deps, accountId } }: { ctx: Ctx }): Promise<WebhookEndpoint[]> =>
  deps.database.webhooks.list(accountId)

/** Only this answer, and a repeat with the same key, holds the secret. @throws ServiceError invalid_input, conflict */
export async function createWebhook({
  ctx,
  input: { url, description, statuses },
  idempotency,
}: {
  ctx: Ctx
  input: { url: string; description: string; statuses: TrainingJobStatus[] }
  idempotency: Idempotency
}): Promise<{ webhook: WebhookEndpoint; secret: string }> {
  const { accountId, deps } = ctx
  const href = callableUrl(deps.settings.webhooks, 'url', url)
  const { id, secretId } = await once<{ id: string; secretId: string }>(ctx, idempotency, (answer) =>
    deps.database.transaction(async (tx) => {
      await tx.accounts.hold(accountId)
      if ((await tx.webhooks.list(accountId)).length >= maxEndpoints)
        throw new ServiceError('conflict', `An account has at most ${maxEndpoints} webhooks. Delete one first.`)
      const secret = newSecret()
      const webhook = { id: randomUUID(), accountId, url: href, description, statuses, secrets: [secret] }
      await tx.webhooks.create(webhook)
      await recordAudit(tx, ctx, 'webhook.create', webhook.id)
      return answer(tx, { id: webhook.id, secretId: secret.id })
    }),
  )
  return { webhook: await findWebhook(ctx, id), secret: webhookSecret(deps.settings.secret, secretId) }
}

/** Absent fields stay unchanged. Enabling sends the events that have waited. @throws ServiceError not_found, invalid_input */
export async function updateWebhook({
  ctx,
  input: { id, url, description, statuses, isDisabled },
}: {
  ctx: Ctx
  input: {
    id: string
    url?: string | undefined
    description?: string | undefined
    statuses?: TrainingJobStatus[] | undefined
    isDisabled?: boolean | undefined
  }
}): Promise<WebhookEndpoint> {
  const href = url === undefined ? undefined : callableUrl(ctx.deps.settings.webhooks, 'url', url)
  return ctx.deps.database.transaction(async (tx) => {
    const webhook = await tx.webhooks.lock(ctx.accountId, id)
    if (!webhook) throw webhookNotFound(id)
    await tx.webhooks.update(id, {
      url: href ?? webhook.url,
      description: description ?? webhook.description,
      statuses: statuses ?? webhook.statuses,
    })
    if (isDisabled === true) await tx.webhooks.disable(id, 'requested')
    if (isDisabled === false && webhook.disabledAt) await tx.webhooks.enable(id)
    await recordAudit(tx, ctx, 'webhook.update', id)
    return (await tx.webhooks.find(ctx.accountId, id)) ?? webhook
  })
}

/** Deletes the log of its deliveries too. @throws ServiceError not_found */
export async function deleteWebhook({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<void> {
  await ctx.deps.database.transaction(async (tx) => {
    if (!(await tx.webhooks.lock(ctx.accountId, id))) throw webhookNotFound(id)
    await tx.webhooks.delete(id)
    await recordAudit(tx, ctx, 'webhook.delete', id)
  })
}
