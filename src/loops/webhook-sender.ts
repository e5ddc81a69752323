// Brings events to users' servers: woken by notifications, swept for what is due again. One worker at a time sends for an
// endpoint, in rounds: the oldest waiting event of each of some jobs, side by side. So events of a job arrive in order, and
// no endpoint keeps the others waiting.
import { setTimeout as sleep } from 'node:timers/promises'
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
import { errorText } from '../temporal/deliver-message.ts'
import type { createCall } from '../services/webhooks/call.ts'

/** Of one worker. */
const endpointsAtOnce = 32
const deliveriesAtOnce = 8
const sweepMs = 1000
const pauseAfterErrorMs = 1000
const attemptsKept = 30

/** Runs until `signal` aborts; any number of workers may run. An event may arrive twice: it is marked only after it was taken. */
export async function deliverWebhooks({
  database,
  notifications,
  call,
  secret,
  log,
  signal,
}: {
  database: Pick<Database, 'webhookDeliveries' | 'webhooks'>
  notifications: Pick<Notifications, 'next'>
  call: ReturnType<typeof createCall>
  /** The service's, from which those of the endpoints are derived. */
  secret: string
  log: Log
  signal: AbortSignal
}): Promise<void> {
  const { webhookDeliveries, webhooks } = database
  const rounds = new Set<Promise<void>>()
  while (!signal.aborted) {
    try {
      const endpoints = await webhookDeliveries.claimEndpoints(endpointsAtOnce - rounds.size)
      for (const endpoint of endpoints) begin(round(endpoint))
      if (endpoints.length === 0) await wait()
    } catch (error) {
      await pause(error)
    }
  }
  await Promise.all(rounds)

  function begin(work: Promise<void>) {
    const done = work.catch(pause).finally(() => rounds.delete(done))
    rounds.add(done)
  }

  async function pause(error: unknown) {
    if (signal.aborted) return
    log.warn({ error: errorText(error) }, 'webhooks cannot be delivered now; trying again')
    await sleep(pauseAfterErrorMs, undefined, { signal }).catch(() => undefined)
  }

  /** For news, for what is due again, or for the end of a round: its endpoint may have more. */
  async function wait() {
    const waited = new AbortController()
    const either = AbortSignal.any([signal, waited.signal])
    await Promise.race([notifications.next('webhooks', { timeoutMs: sweepMs, signal: either }), ...rounds])
    waited.abort()
  }

  async function round(endpoint: ClaimedEndpoint) {
    const due = await webhookDeliveries.listDue(endpoint.id, deliveriesAtOnce)
    await Promise.all(due.map((delivery) => deliver(endpoint, delivery)))
    // Looking for what waits in vain costs as much as there is due.
    if (due.length < deliveriesAtOnce) await webhookDeliveries.releaseAndPutOff(endpoint)
    else await webhookDeliveries.release(endpoint)
  }

  async function deliver(endpoint: ClaimedEndpoint, delivery: WebhookDelivery) {
    const at = new Date()
    const answer = await send(endpoint, delivery, at)
    // Stopped in the middle: nobody knows whether it arrived, so it is sent again.
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
    if (await webhooks.disable(id, reason, { quietMs })) log.warn({ id, reason }, 'webhook endpoint disabled')
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
