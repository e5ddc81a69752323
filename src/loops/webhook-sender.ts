// Sends events to users' servers. One worker at a time sends to an endpoint, in rounds: the oldest waiting event of each of
// some jobs, in parallel. So events of a job arrive in order, and no endpoint delays another.
import {
  liveSecrets,
  longestDelayMs,
  retryDelayMs,
  retryWindowMs,
  webhookHeaders,
  webhookPayload,
  webhookSecret,
  type DisabledReason,
  type WebhookDelivery,
} from '../domain/webhook.ts'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { ClaimedEndpoint } from '../repositories/webhook-deliveries.ts'
import type { createCall } from '../services/webhooks/call.ts'
import type { Loop } from './run-loop.ts'

/** Per worker. */
const endpointsAtOnce = 32
const deliveriesAtOnce = 8
const sweepMs = 1000
const attemptsKept = 30

/** Any number of workers may run. An event may arrive twice: it is marked only after the endpoint took it. */
export function webhookSender({
  database: { webhookDeliveries, webhooks },
  notifications,
  call,
  secret,
  log,
  signal,
}: {
  database: Pick<Database, 'webhookDeliveries' | 'webhooks'>
  notifications: Pick<Notifications, 'on'>
  call: ReturnType<typeof createCall>
  /** The service's secret, from which those of the endpoints are derived. */
  secret: string
  log: Pick<Log, 'warn'>
  signal: AbortSignal
}): Loop {
  const rounds = new Set<Promise<void>>()
  let wakeLoop = () => {}
  return {
    name: 'webhook sender',
    subscribe(wake) {
      wakeLoop = wake
      return notifications.on('webhooks', wake)
    },
    async pass() {
      const endpoints = await webhookDeliveries.claimEndpoints(endpointsAtOnce - rounds.size)
      for (const endpoint of endpoints) begin(endpoint)
      return endpoints.length === 0 ? sweepMs : 0
    },
    drain: () => Promise.all(rounds),
  }

  function begin(endpoint: ClaimedEndpoint) {
    const done = round(endpoint)
      .catch((error: unknown) =>
        log.warn({ endpoint: endpoint.id, err: error }, 'failed to send the events of a webhook'),
      )
      .finally(() => {
        rounds.delete(done)
        // The endpoint may have more to send.
        wakeLoop()
      })
    rounds.add(done)
  }

  async function round(endpoint: ClaimedEndpoint) {
    const due = await webhookDeliveries.listDue(endpoint.id, deliveriesAtOnce)
    await Promise.all(due.map((delivery) => deliver(endpoint, delivery)))
    // The search for what must wait costs as much as there are due deliveries: only worth it when few are due.
    if (due.length < deliveriesAtOnce) await webhookDeliveries.releaseAndPutOff(endpoint)
    else await webhookDeliveries.release(endpoint)
  }

  async function deliver(endpoint: ClaimedEndpoint, delivery: WebhookDelivery) {
    const at = new Date()
    const answer = await send(endpoint, delivery, at)
    // The worker stopped in the middle: the event may not have arrived, so it is sent again.
    if (answer === null) return
    const { statusCode, error, retryAfterMs } = answer
    const attempts = [...delivery.attempts, { at: at.toISOString(), statusCode, error }].slice(-attemptsKept)
    if (error === null) return webhookDeliveries.markDelivered(delivery.id, endpoint.id, attempts)
    const delayMs = Math.max(retryDelayMs(delivery.tryCount + 1), Math.min(retryAfterMs, longestDelayMs))
    const isOver = await webhookDeliveries.markFailed(delivery.id, { attempts, delayMs })
    if (statusCode === 410) await disable(endpoint, 'gone', 0)
    else if (isOver) await disable(endpoint, 'failing', retryWindowMs)
  }

  async function disable({ id }: ClaimedEndpoint, reason: DisabledReason, quietMs: number) {
    if (await webhooks.disable(id, reason, { quietMs })) log.warn({ endpoint: id, reason }, 'webhook endpoint disabled')
  }

  function send({ url, secrets }: ClaimedEndpoint, delivery: WebhookDelivery, at: Date) {
    const body = JSON.stringify(webhookPayload(delivery))
    const keys = liveSecrets(secrets).map(({ id }) => webhookSecret(secret, id))
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'User-Agent': 'Anneal',
      ...webhookHeaders(keys, { id: delivery.id, at, body }),
    }
    return call({ url, headers, body, signal })
  }
}
