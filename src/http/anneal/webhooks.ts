// Webhooks: addresses that get the events of an account's jobs. docs/webhooks.md describes them for receivers.
import { wireTime } from '../../domain/timestamps.ts'
import { mapInTurns } from '../../map-in-turns.ts'
import {
  eventTypeOf,
  liveSecrets,
  statusesOf,
  webhookPayload,
  type WebhookDelivery,
  type WebhookEndpoint,
} from '../../domain/webhook.ts'
import { listDeliveries, replayDelivery } from '../../services/webhooks/deliveries.ts'
import {
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  updateWebhook,
} from '../../services/webhooks/endpoints.ts'
import { removeSecret, rotateSecret } from '../../services/webhooks/secrets.ts'
import { defineRoute } from '../kit/route.ts'
import {
  Delivery,
  DeliveryList,
  DeliveryPath,
  DeliveryQuery,
  NewWebhook,
  SecretPath,
  SecretRotation,
  Webhook,
  WebhookDeleted,
  WebhookList,
  WebhookMade,
  WebhookPath,
  WebhookUpdate,
} from './schemas/webhooks.ts'

const defaultPageSize = 100
const path = '/v1/webhooks'
const byAdmin = { access: 'key', scope: 'admin' } as const

export const webhookRoutes = [
  defineRoute({
    ...byAdmin,
    name: 'create_webhook',
    method: 'post',
    path,
    summary: "Create a webhook for events of the account's jobs. Its signing secret is shown only in this answer",
    body: NewWebhook,
    idempotent: true,
    errorStatuses: [409],
    response: WebhookMade,
    async handle({ caller: ctx, body: { url, description, event_types: types }, idempotency }) {
      const input = { url, description: description ?? '', statuses: statusesOf(types ?? []) }
      return made(await createWebhook({ ctx, input, idempotency }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'list_webhooks',
    method: 'get',
    path,
    summary: 'List the webhooks of the account, newest first',
    response: WebhookList,
    handle: async ({ caller: ctx }) => ({ webhooks: (await listWebhooks({ ctx })).map(shown) }),
  }),
  defineRoute({
    ...byAdmin,
    name: 'get_webhook',
    method: 'get',
    path: `${path}/:webhook_id`,
    summary: 'Get one webhook',
    params: WebhookPath,
    response: Webhook,
    handle: async ({ caller: ctx, params }) => shown(await findWebhook(ctx, params.webhook_id)),
  }),
  defineRoute({
    ...byAdmin,
    name: 'update_webhook',
    method: 'post',
    path: `${path}/:webhook_id`,
    summary: 'Change, disable or enable a webhook; absent fields stay unchanged',
    params: WebhookPath,
    body: WebhookUpdate,
    response: Webhook,
    async handle({ caller: ctx, params, body: { url, description, event_types: types, disabled } }) {
      const input = {
        id: params.webhook_id,
        url: url ?? undefined,
        description: description ?? undefined,
        statuses: types ? statusesOf(types) : undefined,
        isDisabled: disabled ?? undefined,
      }
      return shown(await updateWebhook({ ctx, input }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'delete_webhook',
    method: 'delete',
    path: `${path}/:webhook_id`,
    summary: 'Delete a webhook with the log of its deliveries',
    params: WebhookPath,
    response: WebhookDeleted,
    async handle({ caller: ctx, params: { webhook_id: id } }) {
      await deleteWebhook({ ctx, input: { id } })
      return { id, message: `deleted ${id}` }
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'rotate_webhook_secret',
    method: 'post',
    path: `${path}/:webhook_id/rotate`,
    summary: 'Create a new signing secret, shown only in this answer. The old secret signs too until it expires',
    params: WebhookPath,
    body: SecretRotation,
    idempotent: true,
    errorStatuses: [409],
    response: WebhookMade,
    async handle({ caller: ctx, params, body, idempotency }) {
      const input = { id: params.webhook_id, overlapSeconds: body.overlap_seconds ?? null }
      return made(await rotateSecret({ ctx, input, idempotency }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'remove_webhook_secret',
    method: 'delete',
    path: `${path}/:webhook_id/secrets/:secret_id`,
    summary: 'Remove one of two signing secrets',
    params: SecretPath,
    errorStatuses: [409],
    response: Webhook,
    async handle({ caller: ctx, params }) {
      return shown(await removeSecret({ ctx, input: { id: params.webhook_id, secretId: params.secret_id } }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'list_webhook_deliveries',
    method: 'get',
    path: `${path}/:webhook_id/deliveries`,
    summary: 'List the deliveries of a webhook with their attempts, newest first',
    params: WebhookPath,
    query: DeliveryQuery,
    response: DeliveryList,
    async handle({ caller: ctx, params, query }) {
      const input = { id: params.webhook_id, ...query, limit: query.limit ?? defaultPageSize }
      const { deliveries, next } = await listDeliveries({ ctx, input })
      return { deliveries: await mapInTurns(deliveries, deliveriesOfTurn, delivery), next }
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'replay_webhook_delivery',
    method: 'post',
    path: `${path}/:webhook_id/deliveries/:delivery_id/replay`,
    summary: 'Send an event again, under the same id',
    params: DeliveryPath,
    errorStatuses: [409],
    response: Delivery,
    async handle({ caller: ctx, params }) {
      return delivery(await replayDelivery({ ctx, input: { id: params.webhook_id, deliveryId: params.delivery_id } }))
    },
  }),
]

/** Each may have many attempts. */
const deliveriesOfTurn = 100

const timeOrNull = (date: Date | null) => date && wireTime(date)
const wireTimeOf = (json: string) => wireTime(new Date(json))

const shown = (webhook: WebhookEndpoint) => ({
  id: webhook.id,
  url: webhook.url,
  description: webhook.description,
  event_types: webhook.statuses.map(eventTypeOf),
  secrets: liveSecrets(webhook.secrets).map(({ id, createdAt, expiresAt }) => ({
    id,
    created_at: wireTimeOf(createdAt),
    expires_at: expiresAt && wireTimeOf(expiresAt),
  })),
  created_at: wireTime(webhook.createdAt),
  last_success_at: timeOrNull(webhook.lastSuccessAt),
  disabled_at: timeOrNull(webhook.disabledAt),
  disabled_reason: webhook.disabledReason,
})

const made = ({ webhook, secret }: { webhook: WebhookEndpoint; secret: string }) => ({ ...shown(webhook), secret })

const delivery = (each: WebhookDelivery) => ({
  id: each.id,
  event: webhookPayload(each),
  state: each.state,
  next_attempt_at: timeOrNull(each.dueAt),
  attempts: each.attempts.map(({ at, statusCode, error }) => ({ at: wireTimeOf(at), status_code: statusCode, error })),
})
