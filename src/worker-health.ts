// The worker's own port: liveness, readiness and metrics, for whatever runs the process.
import type { Worker } from '@temporalio/worker'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { collectDefaultMetrics, Counter, Gauge, Registry, type Metric } from 'prom-client'
import { knownHosts, unknownHost } from './http/edge/known-hosts.ts'
import { refusalReasons, type RefusalReason } from '../activities/sweep-guard.ts'

/** Counts what this worker's reaper released. A value above zero means that something ended without its workflow. */
const reapedCounter = new Counter({
  name: 'anneal_reaped_total',
  help: 'Resources that the reaper released: runs and attempts that no workflow managed, jobs whose workflow was ended.',
  labelNames: ['what'],
  registers: [],
})

export const countReaped = (what: string) => reapedCounter.inc({ what })

/** Counts by kind since this process began. */
export async function reapedCounts(): Promise<Record<string, number>> {
  const { values } = await reapedCounter.get()
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels['what']), value]))
}

const refusedSweepCounter = new Counter({
  name: 'anneal_sweep_refusals_total',
  help: 'Refused sweeps of the object store: database and bucket may not belong together.',
  labelNames: ['reason'],
  registers: [],
})
// A series that began with its first refusal would have no increase for Prometheus.
for (const reason of refusalReasons) refusedSweepCounter.inc({ reason }, 0)

export const countRefusedSweep = (reason: RefusalReason) => refusedSweepCounter.inc({ reason })

type Watched = Pick<Worker, 'getState' | 'getStatus' | 'options'>

/**
 * `/healthz`: 200 unless a Temporal worker has failed; a stuck event loop does not answer. A dependency that is away is
 * no reason for a restart. `/readyz`: 200 while every Temporal worker polls, so that a rolling update ends the old
 * process only then. `/metrics`: Prometheus.
 */
export async function serveWorkerHealth(host: string, port: number, hosts: readonly string[] = []) {
  let workers: readonly Watched[] = []
  const registry = createRegistry(() => workers)
  const checks: Record<string, () => boolean> = {
    '/healthz': () => workers.every((worker) => worker.getState() !== 'FAILED'),
    '/readyz': () => workers.length > 0 && workers.every((worker) => worker.getState() === 'RUNNING'),
  }
  const isKnownHost = knownHosts(hosts)
  const server = createServer((request, response) => {
    if (!isKnownHost(request.headers.host)) return void response.writeHead(421).end(unknownHost)
    if (request.url === '/metrics') {
      void registry
        .metrics()
        .then((text) => response.setHeader('Content-Type', registry.contentType).end(text))
        .catch(() => response.writeHead(500).end())
      return
    }
    const check = checks[request.url ?? '']
    response.writeHead(check ? (check() ? 200 : 503) : 404, { 'Content-Type': 'application/json' })
    response.end(
      JSON.stringify(workers.map((worker) => ({ queue: worker.options.taskQueue, state: worker.getState() }))),
    )
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    add: (metrics: readonly Metric[]) => metrics.forEach((metric) => registry.registerMetric(metric)),
    watch: (watched: readonly Watched[]) => void (workers = watched),
    close: () => void server.close(),
  }
}

function createRegistry(workers: () => readonly Watched[]): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  registry.registerMetric(reapedCounter)
  registry.registerMetric(refusedSweepCounter)
  const gauge = (name: string, help: string, measure: (worker: Watched) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['queue'],
      registers: [registry],
      collect() {
        for (const worker of workers()) this.set({ queue: worker.options.taskQueue }, measure(worker))
      },
    })
  gauge('anneal_worker_polling', '1 while this queue is polled.', (worker) => Number(worker.getState() === 'RUNNING'))
  gauge('anneal_worker_activities', 'Activities in progress.', (worker) => worker.getStatus().numInFlightActivities)
  return registry
}
