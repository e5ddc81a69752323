// Webhooks about jobs, in the form of Standard Webhooks (standardwebhooks.com).
import { createHmac } from 'node:crypto'
import { trainingJobStatuses, type TrainingJobStatus } from './training-job-status.ts'

const eventTypes = {
  CREATED: 'training_job.created',
  QUEUED: 'training_job.queued',
  'LOADING DATA': 'training_job.loading_data',
  'TRAINING MODEL': 'training_job.training_model',
  'SAVING MODEL': 'training_job.saving_model',
  'EVALUATING MODEL': 'training_job.evaluating_model',
  COMPLETED: 'training_job.completed',
  'PARTIALLY COMPLETED': 'training_job.partially_completed',
  CANCELLED: 'training_job.cancelled',
  FAILED: 'training_job.failed',
} as const satisfies Record<TrainingJobStatus, string>

type WebhookEventType = (typeof eventTypes)[TrainingJobStatus]
export const webhookEventTypes = Object.values(eventTypes)
export const eventTypeOf = (status: TrainingJobStatus): WebhookEventType => eventTypes[status]
export const statusesOf = (types: readonly WebhookEventType[]): TrainingJobStatus[] =>
  trainingJobStatuses.filter((status) => types.includes(eventTypes[status]))

/** The secret's bytes are derived from `id`. Times are ISO 8601 texts. */
export type WebhookSecret = { id: string; createdAt: string; expiresAt: string | null }

/** `requested`: by the account. `failing`: no delivery succeeded within the retry window. `gone`: it answered 410. */
export type DisabledReason = 'requested' | 'failing' | 'gone'

export type WebhookEndpoint = {
  id: string
  accountId: string
  url: string
  description: string
  /** Sends events of these statuses; of all when empty. */
  statuses: TrainingJobStatus[]
  /** Newest first. */
  secrets: WebhookSecret[]
  createdAt: Date
  lastSuccessAt: Date | null
  disabledAt: Date | null
  disabledReason: DisabledReason | null
}

/** `error` is null after a success. `statusCode` is null when no server answered. */
export type DeliveryAttempt = { at: string; statusCode: number | null; error: string | null }

export type WebhookDelivery = {
  /** Does not change between tries. */
  id: string
  /** Position in the list. */
  sequence: string
  jobId: number
  status: TrainingJobStatus
  statusReason: string | null
  modelName: string | null
  attempt: number | null
  createdAt: Date
  state: 'pending' | 'delivered' | 'failed'
  /** Null when the delivery has ended or its endpoint is disabled. */
  dueAt: Date | null
  tryCount: number
  /** The newest tries, oldest first. */
  attempts: DeliveryAttempt[]
}

/** A delivery is retried this long after its event or replay. The column's default is the same. */
export const retryWindowMs = 72 * 3_600_000

const firstDelayMs = 5000
/** Caps a receiver's Retry-After, too. */
export const longestDelayMs = 8 * 3_600_000

/** Wait after `tryCount` failed tries: 5 s, 15 s, 45 s and so on up to 8 h, plus up to a tenth. */
export const retryDelayMs = (tryCount: number) =>
  Math.min(firstDelayMs * 3 ** (tryCount - 1), longestDelayMs) * (1 + Math.random() / 10)

type Event = Pick<WebhookDelivery, 'jobId' | 'status' | 'statusReason' | 'modelName' | 'attempt' | 'createdAt'>

/** Every try builds the same bytes. */
export const webhookPayload = ({ jobId, status, statusReason, modelName, attempt, createdAt }: Event) => ({
  type: eventTypeOf(status),
  timestamp: createdAt.toISOString(),
  data: { job_id: jobId, status, status_reason: statusReason, model_name: modelName, attempt },
})

const secretPrefix = 'whsec_'

/** The secret is derived, not stored: a leaked database cannot sign. */
export const webhookSecret = (serviceSecret: string, id: string) =>
  secretPrefix + createHmac('sha256', serviceSecret).update(`webhook-secret ${id}`).digest('base64')

export const liveSecrets = (secrets: readonly WebhookSecret[]) =>
  secrets.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > Date.now())

/** Signs the body once per secret. */
export function webhookHeaders(secrets: readonly string[], { id, at, body }: { id: string; at: Date; body: string }) {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const sign = (secret: string) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  }
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') }
}
