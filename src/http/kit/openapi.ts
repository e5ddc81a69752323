// Derives the OpenAPI 3.1 document from the route definitions and their schemas.
import { z } from 'zod'
import recorded from '../examples.json' with { type: 'json' }
import { apiSchemas } from './named-schemas.ts'
import { errorFormatFor, type ErrorFormat } from './problem.ts'
import { errorStatusesOf } from './error-statuses.ts'
import { pathsOf, warningHeader, type Route } from './route.ts'
import { tellsUnknownFields } from './unknown-fields.ts'

type Json = Record<string, unknown>
/** The example of an operation, as `npm run examples` records it. */
type Example = { params?: Json; query?: Json; body?: unknown; answer?: unknown }

const exampleOf = ({ name }: Route): Example => (recorded as Record<string, Example>)[name] ?? {}

const uri = (id: string) => `#/components/schemas/${id}`

export function openApiDocument(
  routes: readonly Route[],
  {
    title,
    version,
    serviceName,
    errorFormats,
    chapters,
    webhooks = {},
  }: {
    title: string
    version: string
    serviceName: string
    /** The names of the routes' chapters, each with a sentence. */
    chapters: readonly (readonly [name: string, description: string])[]
    errorFormats?: readonly ErrorFormat[]
    webhooks?: Readonly<Record<string, SentEvent>>
  },
) {
  const paths: Record<string, Json> = {}
  for (const route of routes)
    for (const [index, path] of pathsOf(route, serviceName).entries()) {
      const operationId = index === 0 ? route.name : `${route.name}_alias_${index}`
      const entry = (paths[documentPath(path)] ??= {})
      entry[route.method] = operation(route, operationId, {
        isAlias: index > 0,
        error: errorFormatFor(path, errorFormats),
      })
    }
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: 'Completions, embeddings, data sets, and fine-tuning as a durable job.',
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that answers this document' }],
    tags: chapters.map(([name, description]) => ({ name, description })),
    paths,
    webhooks: Object.fromEntries(
      Object.entries(webhooks).map(([name, event]) => [name, { post: receiver(name, event) }]),
    ),
    components: {
      schemas: componentSchemas(),
      headers,
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. x-scope of an operation names the scope that the key needs.',
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
  const example = exampleOf(route)
  const parameters = [
    ...parametersOf(route.params, 'path', example.params),
    ...parametersOf(route.query, 'query', example.query),
  ]
  if (route.contentType === 'text/event-stream')
    parameters.push({
      name: 'Last-Event-ID',
      in: 'header',
      required: false,
      description: 'The id of the last event that the client has seen: the stream goes on after it',
      schema: { type: 'string' },
    })
  if (route.hasTag)
    parameters.push({
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description:
        'The ETag of the answer that the client has: if nothing has changed, the answer is 304 without a body',
      schema: { type: 'string' },
    })
  if (route.idempotent)
    parameters.push({
      name: 'Idempotency-Key',
      in: 'header',
      description: 'Makes the request safe to repeat: the same key with the same request gets the first answer again',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    })
  return {
    operationId,
    tags: [route.chapter],
    summary: isAlias ? `${route.summary} (the same as ${documentPath(route.path)})` : route.summary,
    description: descriptionOf(route, isAlias),
    ...(isAlias ? { deprecated: true } : {}),
    security: route.access === 'none' ? [] : [{ key: [] }],
    ...(route.scope ? { 'x-scope': route.scope } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: true,
            content: content(route.form ? 'multipart/form-data' : 'application/json', route.body, example.body),
          },
        }
      : {}),
    responses: {
      200: {
        description: 'Done',
        headers: headersOf(200, { ...route, warns: route.warns === true || tellsUnknownFields(route) }),
        content: {
          ...(route.contentType
            ? { [route.contentType]: eventContent(route.response, example.answer) }
            : content('application/json', route.response, example.answer)),
          ...moreContent(route),
        },
      },
      ...(route.hasTag ? { 304: { description: 'Nothing has changed', headers: headersOf(304, route) } } : {}),
      ...Object.fromEntries(
        errorStatusesOf(route).map(([status, description]) => [
          status,
          {
            description,
            headers: headersOf(status),
            content: content(error.contentType.split(';')[0] ?? '', error.schema),
          },
        ]),
      ),
    },
  }
}

/** A request that the service sends. */
export type SentEvent = {
  summary: string
  description: string
  /** By name, with their descriptions. */
  headers: Readonly<Record<string, string>>
  body: z.ZodType
}

function receiver(operationId: string, { summary, description, headers: sent, body }: SentEvent): Json {
  return {
    operationId,
    tags: ['Webhooks'],
    summary,
    description,
    security: [],
    parameters: Object.entries(sent).map(([name, what]) => ({
      name,
      in: 'header',
      required: true,
      description: what,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: content('application/json', body) },
    responses: {
      '2XX': { description: 'The event has arrived' },
      410: { description: 'The receiver is gone: the webhook is disabled' },
      default: { description: 'The event is sent again later' },
    },
  }
}

const headers = {
  'X-Request-Id': {
    description: 'Identifies the request in the log: the X-Request-Id of the request, or a new one',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before the next try', schema: { type: 'integer' } },
  ETag: { description: 'Names this answer, for If-None-Match', schema: { type: 'string' } },
  [warningHeader]: {
    description:
      'Sentences about a request that was carried out, though it may not be what you meant: a field without effect, or an empty answer',
    schema: { type: 'string' },
  },
}

const headersOf = (status: number, { warns = false, hasTag = false }: Pick<Route, 'warns' | 'hasTag'> = {}): Json =>
  Object.fromEntries(
    [
      'X-Request-Id',
      ...(status === 429 || status === 503 ? ['Retry-After'] : []),
      ...(warns ? [warningHeader] : []),
      ...(hasTag ? ['ETag'] : []),
    ].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )

/** Express serves a path with a final slash also without it. */
const documentPath = (path: string) => path.replaceAll(/:(\w+)/g, '{$1}').replace(/\/$/, '')

/** Says what a caller needs to know beside the summary; all of it follows from the definition. */
function descriptionOf(route: Route, isAlias: boolean): string {
  const { summary, scope, idempotent, bodyLimitBytes, form, method } = route
  const limit = bodyLimitBytes ?? form?.limitBytes
  return [
    `${summary}.`,
    ...(isAlias ? [`An older path of ${route.method.toUpperCase()} ${documentPath(route.path)}.`] : []),
    scope ? `Needs a key with the scope ${scope}.` : route.access === 'none' ? 'Needs no key.' : 'Needs a key.',
    ...(limit && method !== 'get' ? [`The body may have at most ${limit / mebibyte} MiB.`] : []),
    ...(idempotent ? ['With an Idempotency-Key it is safe to repeat.'] : []),
    ...(route.contentType === 'text/event-stream' ? ['Answers server-sent events until the end.'] : []),
    ...(route.alsoAnswers === 'text/event-stream' ? ['Answers server-sent events when `stream` is true.'] : []),
  ].join(' ')
}

const mebibyte = 1024 * 1024

const moreContent = ({ alsoAnswers }: Route): Json =>
  alsoAnswers ? { [alsoAnswers]: { schema: { description: 'See docs/openai.md' } } } : {}

const content = (type: string, schema: z.ZodType, example?: unknown): Json => ({
  [type]: { schema: referenceTo(schema), ...(example === undefined ? {} : { example }) },
})

function referenceTo(schema: z.ZodType) {
  const id = apiSchemas.get(schema)?.id
  if (id === undefined) throw new Error('name the schema of every body and answer with named()')
  return { $ref: uri(id) }
}

/** The fields of a server-sent event are texts; `data` holds JSON. */
const eventContent = (data: z.ZodType, example: unknown): Json => ({
  schema: {
    type: 'object',
    properties: {
      event: { type: 'string', description: 'The kind of the event' },
      id: { type: 'string', description: 'For Last-Event-ID' },
      data: { type: 'string', contentMediaType: 'application/json', contentSchema: referenceTo(data) },
    },
  },
  ...(example === undefined ? {} : { example: { data: JSON.stringify(example) } }),
})

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query', example: Json = {}): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...described(property),
    ...(name in example ? { example: property['type'] === 'integer' ? Number(example[name]) : example[name] } : {}),
  }))
}

/** A parameter's description stands beside its schema. */
const described = ({ description, ...schema }: Json): Json => ({ ...(description ? { description } : {}), schema })

/** Moves the description of a value that may be null from the value, which other schemas share, to its property. */
function liftDescription({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }) {
  const [holder, other] = jsonSchema.anyOf ?? []
  if (jsonSchema.anyOf?.length !== 2 || other?.type !== 'null' || !holder?.description) return
  const { description, ...value } = holder
  jsonSchema.description ??= description
  jsonSchema.anyOf = [value, other]
}

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(apiSchemas, {
    io: 'input',
    uri,
    metadata: z.globalRegistry,
    // Custom checks have no JSON Schema; their meta describes them.
    unrepresentable: 'any',
    override: liftDescription,
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  )
}
