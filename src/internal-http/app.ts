// The internal app: routes for training pods and model-server pods. docs/internal-api.md describes it.
import { bearerOf } from '../domain/bearer.ts'
import type { Express, Request } from 'express'
import { sha256 } from '../domain/identifiers.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { BodyMemory } from '../http/edge/body-memory.ts'
import { createHttpApp } from '../http/edge/create-app.ts'
import type { Metrics } from '../http/kit/metrics.ts'
import { healthRoutes } from '../http/anneal/service.ts'
import type { PodCtx, ServiceDependencies } from '../services/context.ts'
import { podRoutes } from './pod-routes.ts'

const apiVersion = '1'

type InternalAppOptions = { deps: ServiceDependencies; metrics: Metrics; bodyMemory: BodyMemory }

export function createInternalApp({ deps, metrics, bodyMemory }: InternalAppOptions): Express {
  return createHttpApp({
    edge: 'internal',
    routes: [...podRoutes, ...healthRoutes],
    authenticators: { none: ({ origin }) => ({ deps, origin }), pod: ({ request }) => podOf(deps, request) },
    serviceName: 'svc',
    bodyMemory,
    log: deps.log,
    metrics,
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
  const token = bearerOf(headers.authorization)
  if (token === undefined)
    throw new ServiceError(
      'invalid_token',
      'invalid token: send the token of the pod in the header "Authorization: Bearer ...".',
    )
  return { deps, tokenHash: sha256(token) }
}
