// Mounts route definitions on Express: who calls, what was sent, one verb, one answer.
import express, { type Express, type Request, type Response } from 'express'
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { invalidInput } from '../../domain/service-error.ts'
import type { Origin } from '../../services/context.ts'
import type { Ctx } from '../../services/context.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import { withForm } from '../../services/files/receive-file.ts'
import { ingestRows, type ReceivedRows, type RowsOfFields } from '../../services/datasets/ingest-rows.ts'
import { slowBodyLimits } from './slow-body-guard.ts'
import { drain } from './drain.ts'
import { openRequestContext, locals, sendProblem, type RequestContextOptions } from './request-context.ts'
import { routeNotFound, methodNotAllowed } from './no-route.ts'
import { createJsonBodies, type JsonBodies } from './json-body.ts'
import { formBoundary, openBody, readBody } from './request-body.ts'
import { clientGone, EventStream, FileBytes, JsonText } from './respond.ts'
import { sendEvents, sendFile, sendJson, sendJsonText, streamJsonArray } from './respond.ts'
import { pathsOf, type Access, type CallerOf, type Route } from './route.ts'
import { requireStorableText, validate } from './validation.ts'

type Authenticators = { [A in Access]?: (call: Call) => Promise<CallerOf[A]> | CallerOf[A] }

/** What an authenticator may look at. */
export type Call = { route: Route; request: Request; response: Response; origin: Origin }

export type HttpAppOptions = RequestContextOptions & {
  routes: readonly Route[]
  authenticators: Authenticators
  serviceName: string
  /** Whose X-Forwarded-For is believed. */
  trustedProxies?: readonly string[] | undefined
  /** For what answers no JSON. */
  mountMore?: (app: Express) => void
}

type Edge = HttpAppOptions & { json: JsonBodies }

const defaultBodyLimitBytes = 1024 * 1024

export function createHttpApp(options: HttpAppOptions): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing')
  app.set('trust proxy', options.trustedProxies ?? false)
  app.use(openRequestContext(options))
  const edge = { ...options, json: createJsonBodies() }
  const methods = new Map<string, Set<string>>()
  for (const route of options.routes) {
    for (const path of pathsOf(route, options.serviceName)) {
      app[route.method](path, serve(route, edge))
      const allowed = methods.get(path) ?? new Set()
      methods.set(path, allowed.add(route.method.toUpperCase()))
      if (route.method === 'get') allowed.add('HEAD')
    }
  }
  for (const [path, allowed] of methods) app.all(path, methodNotAllowed(path, [...allowed].join(', ')))
  options.mountMore?.(app)
  answerTheRest(app, options)
  return app
}

function answerTheRest(app: Express, options: HttpAppOptions) {
  app.use((request: Request) => {
    throw routeNotFound(request)
  })
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: unknown) => {
    const isBadPath = error instanceof Error && 'status' in error && error.status === 400
    void sendProblem(isBadPath ? routeNotFound(request) : error, request, response, options)
  })
}

function serve(route: Route, edge: Edge) {
  return async (request: Request, response: Response) => {
    locals(response).route = route.path
    try {
      const answer = await callRoute(route, edge, request, response)
      if (answer instanceof EventStream) await sendEvents(response, answer)
      else if (answer instanceof FileBytes) await sendFile(response, answer)
      else if (answer instanceof JsonText) await sendJsonText(response, answer)
      else if (isPages(answer)) await streamJsonArray(response, answer)
      else await sendJson(response, answer)
    } catch (error) {
      await sendProblem(error, request, response, edge)
    }
  }
}

const isPages = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

async function callRoute(route: Route, { authenticators, json }: Edge, request: Request, response: Response) {
  const authenticate = authenticators[route.access]
  if (!authenticate) throw new Error(`no authenticator for ${route.access}`)
  const origin = { requestId: locals(response).requestId, address: request.ip ?? '' }
  const caller = await authenticate({ route, request, response, origin })
  const params = route.params && parseParams(route.params, request)
  const query = route.query && validate(route.query, request.query)
  const handle = (
    body: unknown,
    idempotency: Idempotency,
    { rows = {}, file = null }: { rows?: RowsOfFields; file?: ReceivedRows | null } = {},
  ) => {
    let signal: AbortSignal | undefined
    return route.handle({
      caller,
      params,
      query,
      body,
      rows,
      file,
      headers: request.headers,
      idempotency,
      setHeader: (name, value) => response.setHeader(name, value),
      get signal() {
        return (signal ??= clientGone(response))
      },
    })
  }
  const parse = (bytes: Buffer) => json.parse(bytes, () => clientGone(response))
  const idempotencyKey = request.get('idempotency-key')
  if (route.rows) {
    const body = await openBody(request, route.rows.limitBytes)
    const input = { ctx: caller as Ctx, body, options: route.rows, idempotencyKey, signal: () => clientGone(response) }
    return ingestRows(input, async ({ rest, rows, sha256 }) =>
      handle(await parseBody(route, rest, parse), idempotencyOf(route, request, sha256), { rows }),
    )
  }
  if (route.form) {
    const boundary = formBoundary(request)
    const body = await openBody(request, route.form.limitBytes, slowBodyLimits, formBoundary)
    const input = { ctx: caller as Ctx, body, boundary, idempotencyKey, signal: () => clientGone(response) }
    return withForm(input, ({ fields, file, sha256 }) => {
      const read = route.body && validate(route.body, fields)
      requireStorableText(read, { allowsNul: false })
      return handle(read, idempotencyOf(route, request, sha256), { file })
    })
  }
  if (route.method === 'get' && !(await drain(request))) response.setHeader('Connection', 'close')
  const bytes = route.method === 'get' ? null : await readBody(request, route.bodyLimitBytes ?? defaultBodyLimitBytes)
  const body = bytes && (await parseBody(route, bytes, parse))
  return handle(body, bytes && route.idempotent ? idempotencyOf(route, request, bytes) : null)
}

/** What cannot be an id is answered as an address with nothing behind it. */
function parseParams(schema: z.ZodType, request: Request): unknown {
  const parsed = schema.safeParse(request.params)
  if (!parsed.success) throw routeNotFound(request)
  return parsed.data
}

async function parseBody(route: Route, bytes: Buffer, parse: (bytes: Buffer) => Promise<object>): Promise<unknown> {
  if (bytes.length === 0) {
    if (route.body) throw invalidInput('', 'Send a JSON body.')
    return undefined
  }
  const parsed = await parse(bytes)
  if (!route.body) return undefined
  const body = validate(route.body, parsed)
  requireStorableText(body, { allowsNul: route.allowsNul ?? false })
  return body
}

/** `body` itself, or the hash of a long one. */
function idempotencyOf(route: Route, request: Request, body: Uint8Array): Idempotency {
  const key = request.get('idempotency-key')
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidInput('Idempotency-Key', 'The Idempotency-Key header must be 1 to 255 visible characters.')
  const where = `${route.method} ${route.path} ${JSON.stringify(request.params)}\n`
  return { key, requestHash: createHash('sha256').update(where).update(body).digest() }
}
