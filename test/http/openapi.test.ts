import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { scopes } from '../../src/domain/scopes.ts'
import { createContract } from '../support/contract.ts'
import { liveKey, startPublic } from './support.ts'

const edge = await startPublic()
const { json: document } = await edge.call('GET', '/openapi.json', { key: null })

/** The parts of OpenAPI 3.1 that we use, strictly. */
const Schema = z.looseObject({})
const named = z.strictObject({ schema: z.strictObject({ $ref: z.string() }), example: z.unknown().optional() })
const text = z.strictObject({ schema: z.strictObject({ description: z.string() }) })
const event = z.strictObject({
  schema: z.strictObject({
    type: z.literal('object'),
    properties: z.looseObject({ data: z.looseObject({ contentSchema: z.strictObject({ $ref: z.string() }) }) }),
  }),
  example: z.strictObject({ data: z.string() }).optional(),
})
const Content = z.union([
  z.record(z.string().regex(/^application\/(problem\+)?json$/), named),
  z.strictObject({ 'multipart/form-data': named }),
  z.strictObject({ 'text/event-stream': event }),
  z.strictObject({ 'application/json': named, 'text/event-stream': text }),
  z.strictObject({ 'application/json': named, 'application/octet-stream': text }),
])
const Operation = z.strictObject({
  operationId: z.string().regex(/^\w+$/),
  tags: z.array(z.string()).length(1),
  summary: z.string().min(5),
  description: z.string().min(5),
  deprecated: z.literal(true).optional(),
  security: z.array(z.strictObject({ key: z.tuple([]) })),
  'x-scope': z.enum(scopes).optional(),
  parameters: z
    .array(
      z.strictObject({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean().optional(),
        description: z.string().min(5),
        schema: Schema,
        example: z.union([z.string(), z.int()]).optional(),
      }),
    )
    .optional(),
  requestBody: z.strictObject({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(
    z.string().regex(/^\d{3}$/),
    z.strictObject({
      description: z.string(),
      headers: z.record(z.string(), z.strictObject({ $ref: z.string() })),
      // An answer that says that nothing has changed has no body.
      content: Content.optional(),
    }),
  ),
})
const Document = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({
    title: z.string(),
    version: z.string(),
    description: z.string(),
    license: Schema,
    contact: Schema,
  }),
  servers: z.array(z.strictObject({ url: z.string(), description: z.string() })),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string() })),
  paths: z.record(z.string().startsWith('/'), z.partialRecord(z.enum(['get', 'post', 'put', 'delete']), Operation)),
  webhooks: z.record(z.string(), z.strictObject({ post: Schema })),
  components: z.strictObject({
    schemas: z.record(z.string(), Schema),
    headers: z.record(z.string(), Schema),
    securitySchemes: z.record(z.string(), Schema),
  }),
})
type Document = z.infer<typeof Document>

const operations = (from: Document) =>
  Object.entries(from.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

test('has the form of OpenAPI 3.1', () => {
  assert.equal(z.prettifyError(Document.safeParse(document).error ?? new z.ZodError([])), '')
})

test('names every route of the contract, with its aliases', () => {
  const expected = [
    'post /v1/completions',
    'post /v2/completions',
    'post /v1/streaming_completions',
    'post /v3/streaming_completions',
    'get /v3/streaming_completions/{id}/result',
    'post /v1/batch_completions',
    'get /v1/batch_completions/{id}/result',
    'post /v1/batch_embeddings',
    'get /v1/batch_embeddings/{id}/result',
    'post /v1/reservation',
    'post /v1/inference/embedding',
    'post /v1/embedding',
    'post /v1/data',
    'get /v1/get-upload-base-path',
    'post /v1/local-data',
    'post /v1/existing-data',
    'post /v1/data/num-datapoints',
    'get /v1/data',
    'get /v1/data/{dataset_id}',
    'get /v1/data/{dataset_id}/versions',
    'get /v1/data/{dataset_id}/versions/{version}',
    'get /v1/data/{dataset_id}/rows',
    'put /v1/data/{dataset_id}/columns',
    'post /v1/data/{dataset_id}/columns',
    'delete /v1/data/{dataset_id}',
    'post /v1/svc/data',
    'post /v1/lamini/data',
    'post /v1/svc/delete_data',
    'post /v1/lamini/delete_data',
    'post /v1/train',
    'post /v1/precise_train',
    'get /v1/train/methods',
    'get /v1/train/jobs',
    'get /v1/train/jobs/briefs',
    'post /v1/train/jobs/cancel',
    'get /v1/train/jobs/{job_id}',
    'post /v1/train/jobs/{job_id}/cancel',
    'post /v1/train/jobs/{job_id}/resume',
    'get /v1/svc/train/jobs/{job_id}/eval',
    'get /v1/lamini/train/jobs/{job_id}/eval',
    'get /v1/train/jobs/{job_id}/eval',
    'get /v1/train/jobs/{job_id}/logs',
    'get /v1/train/jobs/{job_id}/skipped-rows',
    'get /v1/train/jobs/{job_id}/events',
    'get /v1/train/jobs/{job_id}/attempts',
    'get /v1/train/jobs/{job_id}/metrics',
    'get /v1/train/jobs/{job_id}/tensorboard',
    'get /v1/train/jobs/{job_id}/record',
    'get /v1/train/jobs/{job_id}/rollouts',
    'get /v1/train/jobs/{job_id}/stream',
    'get /v1/batches',
    'get /v1/batches/{id}',
    'post /v1/batches/{id}/cancel',
    'post /v1/evaluations',
    'get /v1/evaluations',
    'get /v1/evaluations/{id}',
    'post /v1/evaluations/{id}/cancel',
    'get /v1/evaluations/{id}/rows',
    'get /v1/models',
    'get /v1/models/{name}',
    'delete /v1/models/{name}',
    'put /v1/models/{name}/aliases/{alias}',
    'delete /v1/models/{name}/aliases/{alias}',
    'get /v1/models/{name}/card',
    'get /v1/models/{name}/download',
    'post /v1/models/{name}/export',
    'get /v1/models/{name}/exports/{export_id}',
    'get /v1alpha/downloaded_models',
    'post /v1alpha/downloaded_models',
    'get /v1/downloaded_models',
    'post /v1/downloaded_models',
    'get /v1/audit',
    'post /v1/imports/datasets',
    'post /v1/imports/jobs',
    'get /v1/sign-in',
    'post /v1/console/session',
    'get /v1/console/session',
    'delete /v1/console/session',
    'post /v1/console/links',
    'post /v1/console/links/show',
    'post /v1/console/links/open',
    'get /v1/usage',
    'get /v1/usage/training',
    'get /v1/limits',
    'post /v1/keys',
    'get /v1/keys',
    'post /v1/keys/{key_id}/rotate',
    'delete /v1/keys/{key_id}',
    'post /v1/webhooks',
    'get /v1/webhooks',
    'get /v1/webhooks/{webhook_id}',
    'post /v1/webhooks/{webhook_id}',
    'delete /v1/webhooks/{webhook_id}',
    'post /v1/webhooks/{webhook_id}/rotate',
    'delete /v1/webhooks/{webhook_id}/secrets/{secret_id}',
    'get /v1/webhooks/{webhook_id}/deliveries',
    'post /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
    'get /openai/v1/models',
    'get /openai/v1/models/{model}',
    'delete /openai/v1/models/{model}',
    'post /openai/v1/chat/completions',
    'post /openai/v1/responses',
    'get /openai/v1/responses/{response_id}',
    'delete /openai/v1/responses/{response_id}',
    'post /openai/v1/completions',
    'post /openai/v1/embeddings',
    'post /openai/v1/files',
    'get /openai/v1/files',
    'get /openai/v1/files/{file_id}',
    'get /openai/v1/files/{file_id}/content',
    'delete /openai/v1/files/{file_id}',
    'post /openai/v1/evals',
    'get /openai/v1/evals',
    'get /openai/v1/evals/{eval_id}',
    'post /openai/v1/evals/{eval_id}',
    'delete /openai/v1/evals/{eval_id}',
    'post /openai/v1/evals/{eval_id}/runs',
    'get /openai/v1/evals/{eval_id}/runs',
    'get /openai/v1/evals/{eval_id}/runs/{run_id}',
    'post /openai/v1/evals/{eval_id}/runs/{run_id}',
    'post /openai/v1/evals/{eval_id}/runs/{run_id}/cancel',
    'delete /openai/v1/evals/{eval_id}/runs/{run_id}',
    'get /openai/v1/evals/{eval_id}/runs/{run_id}/output_items',
    'get /openai/v1/evals/{eval_id}/runs/{run_id}/output_items/{output_item_id}',
    'get /openai/v1/responses/{response_id}/input_items',
    'post /openai/v1/uploads',
    'post /openai/v1/uploads/{upload_id}/parts',
    'post /openai/v1/uploads/{upload_id}/complete',
    'post /openai/v1/uploads/{upload_id}/cancel',
    'post /openai/v1/batches',
    'get /openai/v1/batches',
    'get /openai/v1/batches/{batch_id}',
    'post /openai/v1/batches/{batch_id}/cancel',
    'post /openai/v1/fine_tuning/jobs',
    'get /openai/v1/fine_tuning/jobs',
    'get /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}',
    'get /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/events',
    'get /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints',
    'post /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/cancel',
    'post /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/pause',
    'post /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/resume',
    'post /openai/v1/fine_tuning/alpha/graders/run',
    'post /openai/v1/fine_tuning/alpha/graders/validate',
    'get /v1/version',
    'get /healthz',
    'get /readyz',
    'get /openapi.json',
  ]
  assert.deepEqual(
    operations(document)
      .map(({ method, path }) => `${method} ${path}`)
      .toSorted(),
    expected.toSorted(),
  )
})

test('every operation is served, and asks for a key with its scope as the document says', async () => {
  const withoutScope = await startPublic({
    database: { accounts: { findLiveApiKey: async () => ({ ...(await liveKey()), scopes: [] }) } },
  })
  for (const { path, method, operation } of operations(document)) {
    const [verb, name] = [method.toUpperCase(), `${method} ${path}`]
    const refused = [await edge.call(verb, path, { key: null })]
    if (operation['x-scope'] !== undefined) refused.push(await withoutScope.call(verb, path))
    for (const { status, text } of refused)
      if (operation.security.length === 0) assert.ok(![401, 404, 405].includes(status), `${name} answers ${status}`)
      else {
        assert.equal(status, 401, name)
        assert.match(text, /invalid token/, name)
      }
  }
})

test('another method is 405, and Allow has those of the document', async () => {
  for (const [path, methods] of Object.entries((document as Document).paths)) {
    const expected = Object.keys(methods).flatMap((method) =>
      method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
    )
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'].filter((each) => !expected.includes(each))) {
      const { status, headers, text } = await edge.call(method, path)
      assert.equal(status, 405, `${method} ${path}`)
      assert.match(text, /"code":"method_not_allowed"/)
      assert.deepEqual(String(headers.allow).split(', ').toSorted(), expected.toSorted(), path)
    }
  }
})

test('names every status that a route can answer with', () => {
  const statusesOf = (path: string, method: 'get' | 'post') =>
    Object.keys(document.paths[path][method].responses).map(Number)
  const ofEvery = [200, 500, 503]
  for (const { path, method, operation } of operations(document)) {
    const statuses = Object.keys(operation.responses).map(Number)
    const expected = [
      ...ofEvery,
      ...(operation.security.length > 0 ? [401, 429] : []),
      ...(method === 'get' ? [] : [400, 408, 413, 415]),
      ...(path.includes('{') ? [404] : []),
      ...(operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ? [422] : []),
    ]
    assert.deepEqual(
      expected.filter((status) => !statuses.includes(status)),
      [],
      `${method} ${path}`,
    )
  }
  assert.deepEqual(statusesOf('/healthz', 'get'), ofEvery)
  assert.deepEqual(statusesOf('/v1/completions', 'post'), [200, 400, 401, 404, 408, 413, 415, 429, 500, 503, 594])
  assert.deepEqual(statusesOf('/v1/train/jobs/{job_id}/resume', 'post').includes(409), true)
  assert.deepEqual(statusesOf('/v1/train/jobs/{job_id}/eval', 'get').includes(409), true)
})

test('operation ids are unique and path parameters are declared', () => {
  const all = operations(document)
  assert.equal(new Set(all.map(({ operation }) => operation.operationId)).size, all.length)
  for (const { path, operation } of all) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const declared = (operation.parameters ?? []).filter((each) => each.in === 'path')
    assert.deepEqual(
      declared.map(({ name }) => name),
      inPath,
      path,
    )
    assert.ok(declared.every(({ required }) => required))
  }
})

test('every reference leads somewhere, and every schema is used', () => {
  const text = JSON.stringify(document)
  const used = new Set([...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, id]) => String(id)))
  assert.deepEqual([...used].toSorted(), Object.keys(document.components.schemas).toSorted())
  assert.equal(
    text.match(/"\$ref"/g)?.length,
    text.match(/"\$ref":"#\/components\/(schemas\/|headers\/(ETag|X-Request-Id|Retry-After|X-Anneal-Warning)")/g)
      ?.length,
  )
})

test('describes every property, where the property is or in the schema that it names', () => {
  const { schemas } = document.components
  const undescribed = (value: unknown, at: string): string[] => {
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([key, inner]) => {
      if (key !== 'properties') return undescribed(inner, at)
      return Object.entries(inner as Record<string, { description?: string; $ref?: string }>).flatMap(
        ([name, property]) => {
          const target = schemas[property.$ref?.split('/').at(-1) ?? '']
          const isDescribed = Boolean(property.description ?? target?.description)
          return [...(isDescribed ? [] : [`${at}.${name}`]), ...undescribed(property, `${at}.${name}`)]
        },
      )
    })
  }
  const missing = Object.entries(schemas).flatMap(([name, schema]) => undescribed(schema, name))
  assert.deepEqual(missing, [], 'add .describe() to these properties of the zod schemas')
})

test('marks every alias as deprecated, and nothing else', () => {
  for (const { operation } of operations(document))
    assert.equal(operation.deprecated ?? false, /_alias_\d+$/.test(operation.operationId), operation.operationId)
})

test('every operation has an example of its request and its answer, and each answer fits its schema', () => {
  const check = createContract(document)
  for (const { path, method, operation } of operations(document)) {
    const { requestBody, parameters = [], responses } = operation
    const examples = [...Object.values(requestBody?.content ?? {}), Object.values(responses['200']?.content ?? {})[0]]
    for (const each of examples)
      assert.ok(each && 'example' in each, `${method} ${path} has no example: npm run examples records it`)
    for (const { name, in: where, schema, example } of parameters) {
      assert.ok(where !== 'path' || example !== undefined, `${name} of ${method} ${path} has no example`)
      if (example !== undefined) assert.ok(z.fromJSONSchema(schema).safeParse(example).success, `${name} of ${path}`)
    }
    const [contentType, { example: body }] = Object.entries(responses['200']?.content ?? {})[0] as [
      string,
      { example: unknown },
    ]
    check({
      method: method.toUpperCase(),
      path: path.replaceAll('{', 'x').replaceAll('}', 'x'),
      status: 200,
      contentType,
      body,
    })
  }
})

test('describes the events that the service sends', () => {
  const { requestBody, parameters } = document.webhooks.training_job.post
  assert.deepEqual(requestBody.content['application/json'].schema, { $ref: '#/components/schemas/WebhookEvent' })
  assert.deepEqual(
    parameters.map((each: { name: string }) => each.name),
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  )
})

test('has no description that was made of a missing one', () => {
  assert.doesNotMatch(JSON.stringify(document), /"description":"[^"]*\bundefined\b/)
})

test('marks optional and nullable fields', () => {
  const { properties, required } = document.components.schemas.TrainRequest
  assert.deepEqual(required, ['model_name'])
  assert.ok(JSON.stringify(properties.dataset_id).includes('"null"'))
  const [limit] = document.paths['/v1/train/jobs'].get.parameters
  assert.deepEqual([limit.name, limit.schema.type, limit.schema.maximum], ['limit', 'integer', 1000])
})
