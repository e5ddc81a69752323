// Routes without a key: health checks, the version, and the OpenAPI document.
import { checkReadiness } from '../../services/health/check-readiness.ts'
import { defineRoute, ignoringUnknownQueries, type Route } from '../kit/route.ts'
import { openApiDocument } from '../kit/openapi.ts'
import { toOpenApi30 } from '../kit/openapi-3.0.ts'
import type { ErrorFormat } from '../kit/problem.ts'
import { Health, OpenApiDocument, OpenApiQuery, Version } from './schemas/service.ts'
import { sentEvents } from './schemas/webhooks.ts'

const ok = { status: 'ok' as const }

/** Probes may send what they like. */
export const healthRoutes = ignoringUnknownQueries([
  defineRoute({
    name: 'healthz',
    chapter: 'Service',
    method: 'get',
    path: '/healthz',
    summary: 'Check that this process answers',
    access: 'none',
    response: Health,
    handle: () => ok,
  }),
  defineRoute({
    name: 'readyz',
    chapter: 'Service',
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
])

export const chapters = [
  ['OpenAI', 'The API of OpenAI, for its clients'],
  ['Evaluations', 'Compare models on the rows of a data set'],
  ['Completions', 'Answers to prompts, as text or in given fields'],
  ['Embeddings', 'Vectors of texts'],
  ['Data', 'Rows to train on, to evaluate with, or to put before prompts'],
  ['Training', 'Fine-tunes as jobs'],
  ['Models', 'Base models and tuned models'],
  ['Webhooks', 'Events of jobs, sent to an address'],
  ['Console', 'Sign-in of the pages under /console'],
  ['Service', 'The service itself: usage, limits, keys, audit trail, health and version'],
] as const

type Described = { version: string; serviceName: string; errorFormats: readonly ErrorFormat[] }

/** The OpenAPI document of these routes and of those that describe them. */
export function openApiOf(others: readonly Route[], described: Described) {
  const all = [...others, ...selfDescription(others, described)]
  return openApiDocument(all, { title: 'Anneal', ...described, chapters, webhooks: sentEvents })
}

/** Two routes that describe all routes, themselves included. */
export function selfDescription(others: readonly Route[], described: Described) {
  const { version } = described
  const self: Route[] = [
    // The old platform has this route, too.
    ...ignoringUnknownQueries([
      defineRoute({
        name: 'version',
        chapter: 'Service',
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
    ]),
    defineRoute({
      name: 'openapi',
      chapter: 'Service',
      method: 'get',
      path: '/openapi.json',
      summary: 'Get this API as an OpenAPI document',
      access: 'none',
      query: OpenApiQuery,
      response: OpenApiDocument,
      handle: ({ query }) => (query.version === '3.0' ? document30 : document),
    }),
  ]
  const all = [...others, ...self]
  const document = openApiDocument(all, { title: 'Anneal', ...described, chapters, webhooks: sentEvents })
  const document30 = toOpenApi30(document)
  return self
}
