// Routes without a key: health checks, the version, and the OpenAPI document.
import { checkReadiness } from '../../services/health/check-readiness.ts'
import { defineRoute, type Route } from '../framework/route.ts'
import { openApiDocument } from '../framework/openapi.ts'
import type { ErrorFormat } from '../framework/problem.ts'
import { Health, OpenApiDocument, Version } from '../schemas/service.ts'

const ok = { status: 'ok' as const }

export const healthRoutes = [
  defineRoute({
    name: 'healthz',
    method: 'get',
    path: '/healthz',
    summary: 'Check that this process answers',
    access: 'none',
    response: Health,
    handle: () => ok,
  }),
  defineRoute({
    name: 'readyz',
    method: 'get',
    path: '/readyz',
    summary: 'Check that the service can serve requests',
    access: 'none',
    response: Health,
    async handle({ caller: { deps } }) {
      await checkReadiness({ deps })
      return ok
    },
  }),
]

/** Two routes that describe all routes, themselves included. */
export function selfDescription(
  others: readonly Route[],
  {
    version,
    serviceName,
    errorFormats,
  }: { version: string; serviceName: string; errorFormats: readonly ErrorFormat[] },
) {
  const self: Route[] = [
    defineRoute({
      name: 'version',
      method: 'get',
      path: '/v1/version',
      summary: 'Get the version of this service and its routes',
      access: 'none',
      response: Version,
      handle: () => ({
        api: all.map(({ name, path }) => ({ name, path })),
        server: version,
        client: 'lamini 2.1 to 3.2',
      }),
    }),
    defineRoute({
      name: 'openapi',
      method: 'get',
      path: '/openapi.json',
      summary: 'Get this API as an OpenAPI document',
      access: 'none',
      response: OpenApiDocument,
      handle: () => document,
    }),
  ]
  const all = [...others, ...self]
  const document = openApiDocument(all, { title: 'Anneal', version, serviceName, errorFormats })
  return self
}
