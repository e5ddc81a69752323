// The admin app: the routes and the page of operators, and /metrics. It has a port of its own, because pods of runs reach the internal one.
import type { Express } from 'express'
import type { BodyMemory } from '../http/framework/body-memory.ts'
import { mountConsole } from '../http/console-page.ts'
import { createHttpApp } from '../http/framework/create-app.ts'
import type { Metrics } from '../http/framework/metrics.ts'
import type { ServiceDependencies } from '../services/context.ts'
import { createAdminCaller } from './admin-caller.ts'
import { addBacklogMetrics } from './backlog-metrics.ts'
import { accountRoutes } from './routes/accounts.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { overviewRoutes } from './routes/overview.ts'

type AdminAppOptions = {
  deps: ServiceDependencies
  metrics: Metrics
  bodyMemory: BodyMemory
  /** The folder of the built console. */
  consoleDir?: string
}

export function createAdminApp({ deps, metrics, bodyMemory, consoleDir }: AdminAppOptions): Express {
  const measureBacklog = addBacklogMetrics(metrics, deps)
  return createHttpApp({
    edge: 'admin',
    routes: [...accountRoutes, ...apiKeyRoutes, ...overviewRoutes],
    authenticators: { admin: createAdminCaller(deps) },
    serviceName: 'svc',
    bodyMemory,
    log: deps.log,
    metrics,
    mountPages(app) {
      app.get('/metrics', async (_request, response) => {
        await measureBacklog()
        response.type(metrics.registry.contentType).send(await metrics.registry.metrics())
      })
      mountConsole(app, consoleDir, 'operator.html')
    },
  })
}
