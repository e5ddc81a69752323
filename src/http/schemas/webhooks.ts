import { z } from 'zod'
import { trainingJobStatuses } from '../../domain/training-job-status.ts'
import { webhookEventTypes } from '../../domain/webhook.ts'
import { webhookNotFound } from '../../services/webhooks/endpoints.ts'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'
import { shortened } from '../framework/problem.ts'
import { Time } from './training-job.ts'

const maxOverlapSeconds = 30 * 24 * 60 * 60
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Anything that is no id is answered like an id that does not exist. */
const Id = z
  .string()
  .transform((text) => {
    if (!uuid.test(text)) throw webhookNotFound(shortened(text))
    return text
  })
  .meta({ format: 'uuid' })

export const WebhookPath = z.object({ webhook_id: Id })
export const SecretPath = z.object({ webhook_id: Id, secret_id: Id })
export const DeliveryPath = z.object({ webhook_id: Id, delivery_id: Id })

const Url = z.string().max(2048).describe('Where events are sent; https, and not a private address')
const Description = z.string().max(200)
const EventTypes = z.array(z.enum(webhookEventTypes)).max(100).describe('Only these; all when empty')

export const NewWebhook = named(
  'NewWebhook',
  z.object({ url: Url, description: Description.nullish(), event_types: EventTypes.nullish() }),
)

export const WebhookUpdate = named(
  'WebhookUpdate',
  z.object({
    url: Url.nullish(),
    description: Description.nullish(),
    event_types: EventTypes.nullish(),
    disabled: z.boolean().nullish().describe('False enables it again: what has waited is sent'),
  }),
)

export const SecretRotation = named(
  'WebhookSecretRotation',
  z.object({
    overlap_seconds: z
      .int()
      .min(0)
      .max(maxOverlapSeconds)
      .nullish()
      .describe('How long the old secret still signs; until it is removed when absent'),
  }),
)

export const Webhook = named(
  'Webhook',
  z.object({
    id: z.string(),
    url: z.string(),
    description: z.string(),
    event_types: z.array(z.enum(webhookEventTypes)).describe('All when empty'),
    secrets: z
      .array(z.object({ id: z.string(), created_at: Time, expires_at: Time.nullable() }))
      .describe('Those that sign, newest first'),
    created_at: Time,
    last_success_at: Time.nullable().describe('When it last took something'),
    disabled_at: Time.nullable(),
    disabled_reason: z
      .enum(['requested', 'failing', 'gone'])
      .nullable()
      .describe('By the account, because it took nothing for 72 hours, or because it answered 410'),
  }),
)

export const WebhookMade = named(
  'WebhookMade',
  z.object({ ...Webhook.shape, secret: z.string().describe('Signs what is sent. Shown here, and never again') }),
)

export const WebhookList = named('WebhookList', z.object({ webhooks: z.array(Webhook) }))

export const WebhookDeleted = named('WebhookDeleted', z.object({ id: z.string(), message: z.string() }))

export const DeliveryQuery = z.object({
  after: queryText().optional().describe('`next` of the page before'),
  limit: queryInt({ min: 1, max: 1000 }).optional(),
})

export const Delivery = named(
  'WebhookDelivery',
  z.object({
    id: z.string().describe('The webhook-id that the receiver sees, the same at each attempt'),
    event: z
      .object({
        type: z.enum(webhookEventTypes),
        timestamp: z.string().describe('When it happened: 2026-11-20T10:00:00.123Z'),
        data: z.object({
          job_id: z.int(),
          status: z.enum(trainingJobStatuses),
          status_reason: z.string().nullable(),
          model_name: z.string().nullable(),
          attempt: z.int().nullable(),
        }),
      })
      .describe('As it is sent'),
    state: z.enum(['pending', 'delivered', 'failed']),
    next_attempt_at: Time.nullable().describe('Null: it has ended, or the webhook is disabled'),
    attempts: z
      .array(
        z.object({
          at: Time,
          status_code: z.int().nullable().describe('Null when nothing answered'),
          error: z.string().nullable().describe('A sentence; null when it was taken'),
        }),
      )
      .describe('The newest, at most 30, oldest first'),
  }),
)

export const DeliveryList = named(
  'WebhookDeliveryList',
  z.object({ deliveries: z.array(Delivery), next: z.string().nullable().describe('`after` of the next page') }),
)
