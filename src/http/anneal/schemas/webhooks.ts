import { z } from 'zod'
import { trainingJobStatuses } from '../../../domain/training-job-status.ts'
import { webhookEventTypes } from '../../../domain/webhook.ts'
import { webhookNotFound } from '../../../services/webhooks/endpoints.ts'
import { keepsEmpty } from '../../kit/empty-fields.ts'
import { named } from '../../kit/named-schemas.ts'
import type { SentEvent } from '../../kit/openapi.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { shortened } from '../../kit/problem.ts'
import { Time } from '../../lamini/schemas/training-job.ts'

const maxOverlapSeconds = 30 * 24 * 60 * 60
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Text that is no id gets the same 404 as an unknown id. */
const Id = z
  .string()
  .transform((text) => {
    if (!uuid.test(text)) throw webhookNotFound(shortened(text))
    return text
  })
  .meta({ format: 'uuid' })
  .describe('The id of the webhook')

export const WebhookPath = z.object({ webhook_id: Id })
export const SecretPath = z.object({ webhook_id: Id, secret_id: Id })
export const DeliveryPath = z.object({ webhook_id: Id, delivery_id: Id })

const Url = z.string().max(2048).describe('The https address that events are sent to; not a private address')
const Description = z.string().max(200).describe('A text for your own use')
const EventTypes = z.array(z.enum(webhookEventTypes)).max(100).describe('The event types to send; all when empty')

export const NewWebhook = named(
  'NewWebhook',
  z.object({ url: Url, description: Description.nullish(), event_types: EventTypes.nullish() }),
)

export const WebhookUpdate = named(
  'WebhookUpdate',
  z.object({
    // An empty value replaces the one that the webhook has, or is refused.
    url: keepsEmpty(Url.nullish()),
    description: keepsEmpty(Description.nullish()),
    event_types: keepsEmpty(EventTypes.nullish()),
    disabled: z.boolean().nullish().describe('False enables the webhook again and sends the waiting events'),
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
      .describe('Seconds that the old secret still signs; when absent, until it is removed'),
  }),
)

export const Webhook = named(
  'Webhook',
  z.object({
    id: z.string().describe('The id of the webhook'),
    url: z.string().describe('The address that events are sent to'),
    description: z.string().describe('Your own text'),
    event_types: z.array(z.enum(webhookEventTypes)).describe('All when empty'),
    secrets: z
      .array(
        z.object({
          id: z.string().describe('The id of the secret'),
          created_at: Time,
          expires_at: Time.nullable().describe(
            'When it stops signing; null for the newest one, or until it is removed',
          ),
        }),
      )
      .describe('The secrets that sign, newest first'),
    created_at: Time,
    last_success_at: Time.nullable().describe('When the receiver last accepted an event'),
    disabled_at: Time.nullable().describe('When the webhook was disabled; null while it is enabled'),
    disabled_reason: z
      .enum(['requested', 'failing', 'gone'])
      .nullable()
      .describe(
        'requested by the account; failing: no event was accepted for 72 hours; gone: the receiver answered 410',
      ),
  }),
)

export const WebhookMade = named(
  'WebhookMade',
  z.object({ ...Webhook.shape, secret: z.string().describe('Signs the events. Shown only in this answer') }),
)

export const WebhookList = named(
  'WebhookList',
  z.object({ webhooks: z.array(Webhook).describe('All webhooks of the account') }),
)

export const WebhookDeleted = named(
  'WebhookDeleted',
  z.object({
    id: z.string().describe('The id of the deleted webhook'),
    message: z.string().describe('A sentence that says what was done'),
  }),
)

export const DeliveryQuery = z.strictObject({
  after: queryText().optional().describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 1000 }).optional().describe('Deliveries of a page, default 100'),
})

const WebhookEvent = named(
  'WebhookEvent',
  z
    .object({
      type: z.enum(webhookEventTypes).describe('The type of the event'),
      timestamp: z.string().describe('When the event happened: 2026-11-20T10:00:00.123Z'),
      data: z
        .object({
          job_id: z.int().describe('The id of the job'),
          status: z.enum(trainingJobStatuses).describe('Its new state'),
          status_reason: z.string().nullable().describe('A machine-readable reason; null without one'),
          model_name: z.string().nullable().describe('Its tuned model; null when it has none'),
          attempt: z.int().nullable().describe('The attempt; null without one'),
        })
        .describe('The job when the event happened'),
    })
    .describe('The event as it is sent'),
)

/** The messages that the service sends, for the section `webhooks` of the OpenAPI document. */
export const sentEvents = {
  training_job: {
    summary: 'A training job has changed its state',
    description:
      'Sent to each webhook that asks for the type of the event; docs/webhooks.md says what a receiver can rely on.',
    headers: {
      'webhook-id': 'The id of the event, the same each time that it is sent',
      'webhook-timestamp': 'When it was sent, in seconds since 1970',
      'webhook-signature': 'A signature of each secret, as Standard Webhooks defines it',
    },
    body: WebhookEvent,
  },
} satisfies Record<string, SentEvent>

export const Delivery = named(
  'WebhookDelivery',
  z.object({
    id: z.string().describe('The webhook-id header that the receiver gets, the same in every attempt'),
    event: WebhookEvent,
    state: z
      .enum(['pending', 'delivered', 'failed'])
      .describe('pending: it will be sent or sent again; failed: it will not be sent again'),
    next_attempt_at: Time.nullable().describe('Null when the delivery has ended or the webhook is disabled'),
    attempts: z
      .array(
        z.object({
          at: Time,
          status_code: z.int().nullable().describe('Null without an answer'),
          error: z.string().nullable().describe('Why the attempt failed; null when the event was accepted'),
        }),
      )
      .describe('The newest 30 attempts, oldest first'),
  }),
)

export const DeliveryList = named(
  'WebhookDeliveryList',
  z.object({
    deliveries: z.array(Delivery).describe('The deliveries of the page, newest first'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)
