// What waits, measured when Prometheus asks. Every api process tells the same: alerts take the maximum.
import { Gauge } from 'prom-client'
import type { Metrics } from '../http/framework/metrics.ts'
import { measureBacklog } from '../services/health/measure-backlog.ts'
import type { ServiceDependencies } from '../services/context.ts'

const gauges = {
  outboxMessages: ['anneal_outbox_messages', 'Messages that Temporal does not have yet.'],
  outboxAgeSeconds: ['anneal_outbox_age_seconds', 'Age of the oldest message that Temporal does not have yet.'],
  attemptsWaiting: ['anneal_attempts_waiting', 'Training attempts without a slot.'],
  attemptsRunning: ['anneal_attempts_running', 'Training attempts that hold a slot.'],
  releases: ['anneal_releases', 'Attempts that should be gone and are not confirmed gone yet.'],
  releaseAgeSeconds: ['anneal_release_age_seconds', 'How long the oldest of them should have been gone.'],
  webhookLagSeconds: [
    'anneal_webhook_lag_seconds',
    'How long the event that is due the longest has waited for its try.',
  ],
} as const
type Name = keyof typeof gauges
const names = Object.keys(gauges) as Name[]

/** @returns what to run before each answer to Prometheus: gauges that collect by themselves would each ask the database */
export function addBacklogMetrics({ registry }: Metrics, deps: ServiceDependencies): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const up = gauge('anneal_database_up', '1 when the database answered within 2 seconds.')
  const byName = new Map(names.map((name) => [name, gauge(gauges[name][0], gauges[name][1])]))
  return async () => {
    const backlog = await measureBacklog({ deps })
    up.set(backlog === null ? 0 : 1)
    // An old number would look like a quiet system.
    for (const [name, each] of byName) each.set(backlog?.[name] ?? Number.NaN)
  }
}
