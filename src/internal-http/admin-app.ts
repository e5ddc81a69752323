// The admin app: the routes and the page of operators, and /metrics. It has a port of its own, because pods of runs reach the internal one.
import type { Express } from 'express'
import type { BodyMemory } from '../http/edge/body-memory.ts'
import { mountConsole } from '../http/anneal/console-page.ts'
import { createHttpApp } from '../http/edge/create-app.ts'
import { knownHosts, unknownHost } from '../http/edge/known-hosts.ts'
import type { Metrics } from '../http/kit/metrics.ts'
import { HttpError } from '../http/kit/problem.ts'
import type { ServiceDependencies } from '../services/context.ts'
import { createAdminCaller } from './admin-caller.ts'
import { addBacklogMetrics } from './backlog-metrics.ts'
import { accountRoutes } from './routes/accounts.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { jobRoutes } from './routes/jobs.ts'
import { maintenanceRoutes } from './routes/maintenance.ts'
import { overviewRoutes } from './routes/overview.ts'
import { accountUsageRoutes } from './routes/usage.ts'

type AdminAppOptions = {
  deps: ServiceDependencies
  metrics: Metrics
  bodyMemory: BodyMemory
  /** The folder of the built console. */
  consoleDir?: string
  /** More names by which what needs no token may be asked for. */
  hosts?: readonly string[]
}

export const adminRoutes = [
  ...accountRoutes,
  ...apiKeyRoutes,
  ...overviewRoutes,
  ...jobRoutes,
  ...accountUsageRoutes,
  ...maintenanceRoutes,
]

export function createAdminApp({ deps, metrics, bodyMemory, consoleDir, hosts = [] }: AdminAppOptions): Express {
  const isKnownHost = knownHosts(hosts)
  const measureBacklog = addBacklogMetrics(metrics, deps)
  return createHttpApp({
    edge: 'admin',
    routes: adminRoutes,
    authenticators: { admin: createAdminCaller(deps) },
    serviceName: 'svc',
    bodyMemory,
    log: deps.log,
    metrics,
    mountPages(app) {
      // The routes before need a token, which no page of another site has.
      app.use((request, _response, next) => {
        if (!isKnownHost(request.headers.host)) throw new HttpError(421, 'misdirected_request', unknownHost)
        next()
      })
      app.get('/metrics', async (_request, response) => {
        await measureBacklog()
        response.type(metrics.registry.contentType).send(await metrics.registry.metrics())
      })
      mountConsole(app, consoleDir, 'operator.html')
    },
  })
}
