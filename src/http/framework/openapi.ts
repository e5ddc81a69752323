// Derives the OpenAPI 3.1 document from the route definitions and their schemas.
import { z } from 'zod'
import { apiSchemas } from './named-schemas.ts'
import { errorFormatFor, type ErrorFormat } from './problem.ts'
import { errorStatusesOf } from './error-statuses.ts'
import { pathsOf, type Route } from './route.ts'

type Json = Record<string, unknown>

const uri = (id: string) => `#/components/schemas/${id}`

export function openApiDocument(
  routes: readonly Route[],
  {
    title,
    version,
    serviceName,
    errorFormats,
  }: { title: string; version: string; serviceName: string; errorFormats?: readonly ErrorFormat[] },
) {
  const paths: Record<string, Json> = {}
  for (const route of routes)
    for (const [index, path] of pathsOf(route, serviceName).entries()) {
      const operationId = index === 0 ? route.name : `${route.name}_alias_${index}`
      const entry = (paths[path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})
      entry[route.method] = operation(route, operationId, {
        isAlias: index > 0,
        error: errorFormatFor(path, errorFormats),
      })
    }
  return {
    openapi: '3.1.0',
    info: { title, version, description: 'Completions, embeddings, data sets, and fine-tuning as a durable job.' },
    tags: tags.map(([name]) => ({ name })),
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. The role of an operation names the scope that the key needs.',
        },
      },
    },
  }
}

function operation(
  route: Route,
  operationId: string,
  { isAlias, error }: { isAlias: boolean; error: ErrorFormat },
): Json {
  const parameters = [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')]
  if (route.contentType === 'text/event-stream')
    parameters.push({ name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } })
  if (route.idempotent)
    parameters.push({ name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 255 } })
  return {
    operationId,
    tags: [tagOf(route.path)],
    summary: isAlias ? `${route.summary} (the same as ${route.path.replaceAll(/:(\w+)/g, '{$1}')})` : route.summary,
    security: route.access === 'none' ? [] : [{ key: route.scope ? [route.scope] : [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: true,
            content: content(route.form ? 'multipart/form-data' : 'application/json', route.body),
          },
        }
      : {}),
    responses: {
      200: {
        description: 'Done',
        content: { ...content(route.contentType ?? 'application/json', route.response), ...moreContent(route) },
      },
      ...Object.fromEntries(
        errorStatusesOf(route).map(([status, description]) => [
          status,
          { description, content: content(error.contentType.split(';')[0] ?? '', error.schema) },
        ]),
      ),
    },
  }
}

const moreContent = ({ alsoAnswers }: Route): Json =>
  alsoAnswers ? { [alsoAnswers]: { schema: { description: 'See docs/openai.md' } } } : {}

/** The first pattern that matches a path names its chapter. */
const tags = [
  ['OpenAI', /^\/openai\//],
  ['Evaluations', /\/evaluations/],
  ['Completions', /completion|reservation/],
  ['Embeddings', /embedding/],
  ['Data', /data|upload/],
  ['Training', /train/],
  ['Models', /model/],
  ['Webhooks', /webhook/],
  ['Console', /console/],
  ['Service', /./],
] as const

const tagOf = (path: string) => tags.find(([, pattern]) => pattern.test(path))?.[0] ?? 'Service'

function content(type: string, schema: z.ZodType): Json {
  const id = apiSchemas.get(schema)?.id
  if (id === undefined) throw new Error('name the schema of every body and answer with named()')
  return { [type]: { schema: { $ref: uri(id) } } }
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query'): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: property,
  }))
}

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(apiSchemas, {
    io: 'input',
    uri,
    metadata: z.globalRegistry,
    // Custom checks have no JSON Schema; their meta describes them.
    unrepresentable: 'any',
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  )
}
