import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type Metrics = ReturnType<typeof createMetrics>

/** The metrics of one process. Labels are bounded: a route is labelled by its pattern, and all unknown paths share one. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const duration = new Histogram({
    name: 'anneal_http_request_duration_seconds',
    help: 'Seconds from the first byte of a request to the last byte of its answer.',
    labelNames: ['edge', 'method', 'route', 'status'] as const,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90],
    registers: [registry],
  })
  return {
    registry,
    observeRequest: (
      labels: { edge: 'public' | 'internal' | 'admin'; method: string; route: string; status: number },
      seconds: number,
    ) => duration.observe(labels, seconds),
  }
}
