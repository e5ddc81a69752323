// The internal app: routes for training pods, model-server pods and operators, and /metrics. docs/internal-api.md describes it.
import type { Express, Request } from 'express'
import { sha256 } from '../domain/identifiers.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { BodyMemory } from '../http/framework/body-memory.ts'
import { createHttpApp } from '../http/framework/create-app.ts'
import type { Metrics } from '../http/framework/metrics.ts'
import { healthRoutes } from '../http/routes/service.ts'
import type { PodCtx, ServiceDependencies } from '../services/context.ts'
import { createAdminCaller } from './admin-caller.ts'
import { addBacklogMetrics } from './backlog-metrics.ts'
import { accountRoutes } from './routes/accounts.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { artifactRoutes } from './routes/artifacts.ts'
import { attemptRoutes } from './routes/attempt.ts'
import { serverRoutes } from './routes/server.ts'

const apiVersion = '1'

export type InternalAppOptions = { deps: ServiceDependencies; metrics: Metrics; bodyMemory: BodyMemory }

export function createInternalApp({ deps, metrics, bodyMemory }: InternalAppOptions): Express {
  const measureBacklog = addBacklogMetrics(metrics, deps)
  return createHttpApp({
    edge: 'internal',
    routes: [...attemptRoutes, ...artifactRoutes, ...serverRoutes, ...accountRoutes, ...apiKeyRoutes, ...healthRoutes],
    authenticators: { none: () => deps, pod: ({ request }) => podOf(deps, request), admin: createAdminCaller(deps) },
    serviceName: 'svc',
    bodyMemory,
    log: deps.log,
    metrics,
    mountPages: (app) =>
      app.get('/metrics', async (_request, response) => {
        await measureBacklog()
        response.type(metrics.registry.contentType).send(await metrics.registry.metrics())
      }),
  })
}

/** The token identifies the attempt or the model server. The service checks in its transaction whether the token is still valid. */
function podOf(deps: ServiceDependencies, { headers }: Request): PodCtx {
  const version = headers['anneal-internal-api'] ?? apiVersion
  if (version !== apiVersion)
    throw new ServiceError(
      'unsupported_runtime',
      `This server supports version ${apiVersion} of the internal API, not ${String(version)}.`,
    )
  const token = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined)
    throw new ServiceError(
      'invalid_token',
      'invalid token: send the token of the pod in the header "Authorization: Bearer ...".',
    )
  return { deps, tokenHash: sha256(token) }
}
