// The part of the OpenAPI document that the console uses.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { errorFormats, publicRoutes } from '../src/http/app.ts'
import { chapters } from '../src/http/anneal/service.ts'
import { openApiDocument } from '../src/http/kit/openapi.ts'
import { adminRoutes } from '../src/internal-http/admin-app.ts'
import { root } from './paths.mjs'

export const typesPath = join(root, 'console/src/api/types.ts')

const operations = [
  'get /v1/sign-in',
  'get /v1/console/session',
  'post /v1/console/session',
  'delete /v1/console/session',
  'post /v1/console/links/show',
  'post /v1/console/links/open',
  'get /v1/train/jobs/briefs',
  'get /v1/train/jobs/{job_id}',
  'post /v1/train/jobs/{job_id}/cancel',
  'post /v1/train/jobs/{job_id}/resume',
  'get /v1/train/jobs/{job_id}/eval',
  'get /v1/train/jobs/{job_id}/metrics',
  'get /v1/train/jobs/{job_id}/logs',
  'get /v1/train/jobs/{job_id}/events',
  'get /v1/train/jobs/{job_id}/attempts',
  'get /v1/train/jobs/{job_id}/rollouts',
  'get /openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints',
  'post /openai/v1/uploads',
  'post /openai/v1/uploads/{upload_id}/complete',
  'post /v1/train',
  'get /v1/train/methods',
  'get /v1/data/{dataset_id}',
  'delete /v1/data/{dataset_id}',
  'get /v1/data',
  'get /v1/data/{dataset_id}/versions',
  'get /v1/data/{dataset_id}/rows',
  'put /v1/data/{dataset_id}/columns',
  'get /v1/models',
  'get /v1/models/{name}',
  'get /v1/models/{name}/card',
  'put /v1/models/{name}/aliases/{alias}',
  'delete /v1/models/{name}',
  'post /v1/models/{name}/export',
  'get /v1/models/{name}/exports/{export_id}',
  'post /v2/completions',
  'get /v1/batches',
  'get /v1/batches/{id}',
  'post /v1/batches/{id}/cancel',
  'get /v1/evaluations',
  'post /v1/evaluations',
  'get /v1/evaluations/{id}',
  'post /v1/evaluations/{id}/cancel',
  'get /v1/evaluations/{id}/rows',
  'get /v1/usage',
  'get /v1/usage/training',
  'get /v1/limits',
  'get /v1/keys',
  'post /v1/keys',
  'post /v1/keys/{key_id}/rotate',
  'delete /v1/keys/{key_id}',
  'get /v1/audit',
  'get /v1/webhooks',
  'post /v1/webhooks',
  'delete /v1/webhooks/{webhook_id}',
  'post /v1/webhooks/{webhook_id}/rotate',
  'get /v1/webhooks/{webhook_id}/deliveries',
  'post /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay',
]

/** What the operators' page asks. The admin port serves no document, so only the answers are described. */
const operatorPaths = ['/internal/v1/admin/overview', '/internal/v1/admin/jobs/{job_id}', '/internal/v1/admin/usage']

type Json = Record<string, unknown>

export function consoleDocument() {
  const { paths, components, ...rest } = openApiDocument(publicRoutes, {
    title: 'Anneal',
    version: '1',
    serviceName: 'lamini',
    chapters,
    errorFormats,
  })
  const used: Record<string, Json> = {}
  for (const operation of operations) {
    const [method = '', path = ''] = operation.split(' ')
    const found = paths[path]?.[method] as { responses: Record<number, Json> } | undefined
    if (!found) throw new Error(`the console calls ${operation}, which is no route`)
    // The console reads failures as problems, whichever route answers them.
    const { 200: done } = found.responses
    used[path] = { ...used[path], [method]: { ...found, responses: { 200: done } } }
  }
  const all = components.schemas as Record<string, Json>
  const schemas: Record<string, Json> = {}
  const follow = (value: unknown) => {
    for (const [, id = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (id in schemas || !all[id]) continue
      schemas[id] = all[id]
      follow(all[id])
    }
  }
  follow(used)
  for (const path of operatorPaths) used[path] = { get: { responses: { 200: answerOf(path) } } }
  return { ...rest, paths: used, components: { ...components, schemas } }
}

function answerOf(path: string) {
  const route = adminRoutes.find((each) => each.method === 'get' && each.path.replaceAll(/:(\w+)/g, '{$1}') === path)
  if (!route) throw new Error(`the operators' page asks ${path}, which is no route`)
  const { $schema: _dialect, ...schema } = z.toJSONSchema(route.response, { io: 'output' })
  return { description: route.summary, content: { 'application/json': { schema } } }
}

export const documentHash = (document: object) => createHash('sha256').update(JSON.stringify(document)).digest('hex')
