// Mounts route definitions on Express: who calls, what was sent, one verb, one answer.
import express, { type Express, type Request, type Response } from 'express'
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { z } from 'zod'
import { sha256 } from '../../domain/identifiers.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Log } from '../../log.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import type { Metrics } from './metrics.ts'
import { HttpRefusal, problemOf, refusalOf } from './problem.ts'
import { drain, parseJson, readBody } from './request-body.ts'
import { gone, sendJson, streamJsonArray } from './respond.ts'
import { pathsOf, type Access, type CallerOf, type Route } from './route.ts'
import { securityHeaders } from './security-headers.ts'
import { refuseBadText, validate } from './validation.ts'

export type Authenticators = { [A in Access]?: (request: Request) => Promise<CallerOf[A]> | CallerOf[A] }

export type EdgeOptions = {
  edge: 'public' | 'internal'
  routes: readonly Route[]
  authenticators: Authenticators
  serviceName: string
  log: Log
  metrics: Metrics
  /** For what answers no JSON. */
  mountMore?: (app: Express) => void
}

type Locals = { requestId: string; route: string }

const defaultBodyLimitBytes = 1024 * 1024

export function createEdge(options: EdgeOptions): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing')
  app.use(beginRequest(options))
  const methods = new Map<string, Set<string>>()
  for (const route of options.routes) {
    for (const path of pathsOf(route, options.serviceName)) {
      app[route.method](path, serve(route, options))
      const allowed = methods.get(path) ?? new Set()
      methods.set(path, allowed.add(route.method.toUpperCase()))
      if (route.method === 'get') allowed.add('HEAD')
    }
  }
  for (const [path, allowed] of methods) app.all(path, refuseMethod(path, [...allowed].join(', ')))
  options.mountMore?.(app)
  answerTheRest(app, options)
  return app
}

function answerTheRest(app: Express, options: EdgeOptions) {
  app.use((request: Request) => {
    throw nothingHere(request)
  })
  // Express knows an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: unknown) => {
    const isBadPath = error instanceof Error && 'status' in error && error.status === 400
    void sendProblem(isBadPath ? nothingHere(request) : error, request, response, options)
  })
}

const locals = (response: Response) => response.locals as Locals

const nothingHere = (request: Request) =>
  new HttpRefusal(404, 'not_found', `There is nothing at ${request.method} ${request.path}.`)

function refuseMethod(path: string, allowed: string) {
  return (request: Request, response: Response) => {
    locals(response).route = path
    throw new HttpRefusal(405, 'method_not_allowed', `${request.method} is not possible here; use ${allowed}.`, {
      Allow: allowed,
    })
  }
}

function beginRequest({ edge, log, metrics }: EdgeOptions) {
  const headers = securityHeaders()
  return (request: Request, response: Response, next: () => void) => {
    const startedAt = performance.now()
    const given = request.headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
    response.locals = { requestId, route: 'unmatched' } satisfies Locals
    response.setHeaders(headers)
    response.setHeader('X-Request-Id', requestId)
    response.once('close', () => {
      const { route } = locals(response)
      // As nginx counts a client that left early.
      const status = response.writableFinished ? response.statusCode : 499
      const method = route === 'unmatched' ? 'any' : request.method
      const seconds = (performance.now() - startedAt) / 1000
      metrics.observeRequest({ edge, method, route, status }, seconds)
      log.debug({ requestId, method: request.method, route, status, durationMs: Math.round(seconds * 1000) }, 'request')
    })
    next()
  }
}

function serve(route: Route, options: EdgeOptions) {
  return async (request: Request, response: Response) => {
    locals(response).route = route.path
    try {
      const answer = await callRoute(route, options, request, response)
      if (isPages(answer)) await streamJsonArray(response, answer)
      else sendJson(response, 200, answer)
    } catch (error) {
      await sendProblem(error, request, response, options)
    }
  }
}

const isPages = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

async function callRoute(route: Route, { authenticators }: EdgeOptions, request: Request, response: Response) {
  const authenticate = authenticators[route.access]
  if (!authenticate) throw new Error(`no authenticator for ${route.access}`)
  const caller = await authenticate(request)
  const params = route.params && parseParams(route.params, request)
  const query = route.query && validate(route.query, request.query)
  const bytes = route.method === 'get' ? null : await readBody(request, route.bodyLimitBytes ?? defaultBodyLimitBytes)
  const body = bytes && parseBody(route, bytes)
  const idempotency = bytes && route.idempotent ? idempotencyOf(route, request, bytes) : null
  let signal: AbortSignal | undefined
  return route.handle({
    caller,
    params,
    query,
    body,
    idempotency,
    get signal() {
      return (signal ??= gone(response))
    },
  })
}

/** What cannot be an id is answered as an address with nothing behind it. */
function parseParams(schema: z.ZodType, request: Request): unknown {
  const parsed = schema.safeParse(request.params)
  if (!parsed.success) throw nothingHere(request)
  return parsed.data
}

function parseBody(route: Route, bytes: Buffer): unknown {
  if (bytes.length === 0) {
    if (route.body) throw invalidInput('', 'Send a JSON body.')
    return undefined
  }
  const json = parseJson(bytes)
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidInput('', 'The body must be a JSON object.')
  if (!route.body) return undefined
  const body = validate(route.body, json)
  // Only an escape can bring such text in; bodies without one are not searched.
  if (bytes.includes('\\u0000') || bytes.includes('\\ud') || bytes.includes('\\uD'))
    refuseBadText(body, { allowsNul: route.allowsNul ?? false })
  return body
}

function idempotencyOf(route: Route, request: Request, body: Buffer): Idempotency {
  const key = request.get('idempotency-key')
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidInput('Idempotency-Key', 'The Idempotency-Key header must be 1 to 255 visible characters.')
  const where = `${route.method} ${route.path} ${JSON.stringify(request.params)}\n`
  return { key, requestHash: sha256(Buffer.concat([Buffer.from(where), body])) }
}

async function sendProblem(error: unknown, request: Request, response: Response, { log }: EdgeOptions) {
  const { requestId, route } = locals(response)
  const refusal = refusalOf(error, request)
  if (refusal.isOurs && !response.destroyed)
    log.error({ err: error, requestId, route, status: refusal.status }, 'request failed')
  if (response.headersSent || response.destroyed) return void response.destroy()
  if (!(await drain(request))) response.setHeader('Connection', 'close')
  if (response.destroyed) return
  for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value)
  const problem = problemOf(refusal, { path: request.path, requestId })
  response.statusMessage = problem.title
  sendJson(response, refusal.status, problem, 'application/problem+json')
}
