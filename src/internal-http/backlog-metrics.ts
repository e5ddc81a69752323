// Measures the backlog when Prometheus asks. Every api process reports the same values, so alerts take the maximum.
import { Gauge } from 'prom-client'
import type { Metrics } from '../http/kit/metrics.ts'
import { measureBacklog } from '../services/health/measure-backlog.ts'
import type { ServiceDependencies } from '../services/context.ts'

const gauges = {
  outboxMessages: ['anneal_outbox_messages', 'Messages that are not delivered to Temporal yet.'],
  outboxAgeSeconds: ['anneal_outbox_age_seconds', 'Seconds since the oldest undelivered message was written.'],
  attemptsWaiting: ['anneal_attempts_waiting', 'Training attempts without a slot.'],
  attemptsRunning: ['anneal_attempts_running', 'Training attempts that hold a slot.'],
  releases: ['anneal_releases', 'Attempts whose release has begun and is not confirmed yet.'],
  releaseAgeSeconds: ['anneal_release_age_seconds', 'Seconds since the oldest unconfirmed release began.'],
  webhookLagSeconds: ['anneal_webhook_lag_seconds', 'Seconds that the longest overdue webhook event has waited.'],
} as const
type Name = keyof typeof gauges
const names = Object.keys(gauges) as Name[]

/** @returns a function to call before each answer to Prometheus. Gauges with a `collect` of their own would each query the database. */
export function addBacklogMetrics({ registry }: Metrics, deps: ServiceDependencies): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const up = gauge('anneal_database_up', '1 when the database answered within 2 seconds.')
  const byName = new Map(names.map((name) => [name, gauge(gauges[name][0], gauges[name][1])]))
  return async () => {
    const backlog = await measureBacklog({ deps })
    up.set(backlog === null ? 0 : 1)
    // NaN, because an old number would hide the outage.
    for (const [name, each] of byName) each.set(backlog?.[name] ?? Number.NaN)
  }
}
