// A small framework on Express. Express parses URLs and finds the route; from one definition per route (route.ts) this adds:
// validation by zod with every problem named, authentication, idempotency keys, and 405 with Allow;
// bodies that are bounded, guarded against slow senders, parsed in a thread when large, or streamed to the object store;
// answers as streamed JSON, server-sent events or files, errors as RFC 9457 (problem.ts), and the OpenAPI document (openapi.ts);
// request ids, metrics and logs (request-context.ts); turns between accounts (request-turns.ts).
import express, { type Express, type Request, type Response } from 'express'
import helmet from 'helmet'
import type { z } from 'zod'
import type { Origin } from '../../services/context.ts'
import type { BodyMemory } from './body-memory.ts'
import { allowOrigins } from '../kit/cors.ts'
import { createJsonBodies, type JsonBodies } from '../kit/json-body.ts'
import { HttpError, routeNotFound } from '../kit/problem.ts'
import { receiveJson, receiveStream, type ReceivedBody } from './receive-body.ts'
import { openRequestContext, requestContext, sendProblem, type RequestContextOptions } from '../kit/request-context.ts'
import { createLargeAnswerTurns, createRequestTurns } from './request-turns.ts'
import { clientGone, sendAnswer } from '../kit/respond.ts'
import { pathsOf, warningHeader, type Access, type CallerOf, type Route } from '../kit/route.ts'
import { validate } from '../kit/validation.ts'

type Authenticators = { [A in Access]?: (call: Call) => Promise<CallerOf[A]> | CallerOf[A] }

export type Call = { route: Route; request: Request; response: Response; origin: Origin }

type HttpAppOptions = RequestContextOptions & {
  routes: readonly Route[]
  authenticators: Authenticators
  serviceName: string
  bodyMemory: BodyMemory
  /** Proxies whose X-Forwarded-For header is believed. */
  trustedProxies?: readonly string[] | undefined
  /** Origins whose pages may call this app from a browser. */
  corsOrigins?: readonly string[] | undefined
  /** Beginnings of paths that stand for others. */
  pathAliases?: Readonly<Record<string, string>>
  /** Changes the path and query of a request before its route is found. */
  rewriteUrl?: (url: string) => string
  /** A sentence for a path without a route that is a usual mistake. */
  hintFor?: (path: string) => string | null
  /** Mounts pages that are no JSON routes. */
  mountPages?: (app: Express) => void
}

const securityHeaders = helmet({
  contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  // Only the proxy in front knows whether clients use TLS.
  strictTransportSecurity: false,
})

export function createHttpApp(options: HttpAppOptions): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing')
  app.set('trust proxy', options.trustedProxies ?? false)
  app.use(securityHeaders, openRequestContext(options))
  if (options.corsOrigins?.length) app.use(allowOrigins(options.corsOrigins))
  const aliases = Object.entries(options.pathAliases ?? {})
  app.use((request, _response, next) => {
    const [alias = '', path = ''] = aliases.find(([beginning]) => request.url.startsWith(beginning)) ?? []
    const url = path + request.url.slice(alias.length)
    request.url = options.rewriteUrl?.(url) ?? url
    next()
  })
  const json = createJsonBodies()
  const turns = { turn: createRequestTurns(), inLargeTurn: createLargeAnswerTurns() }
  const methodsOf = new Map<string, string[]>()
  for (const route of options.routes)
    for (const path of pathsOf(route, options.serviceName)) {
      app[route.method](path, serve(route, options, { json, ...turns }))
      const methods = route.method === 'get' ? ['GET', 'HEAD'] : [route.method.toUpperCase()]
      methodsOf.set(path, [...(methodsOf.get(path) ?? []), ...methods])
    }
  for (const [path, methods] of methodsOf) app.all(path, methodNotAllowed(path, methods.join(', ')))
  options.mountPages?.(app)
  app.use((request: Request) => {
    throw routeNotFound(request, options.hintFor?.(request.path))
  })
  // Express recognises an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: unknown) => {
    const isBadPath = error instanceof Error && 'status' in error && error.status === 400
    void sendProblem(isBadPath ? routeNotFound(request) : error, request, response, options)
  })
  return app
}

export function methodNotAllowed(path: string, allowed: string) {
  return (request: Request, response: Response) => {
    requestContext(response).route = path
    const detail = `${request.method} is not allowed on this path. Use ${allowed}.`
    throw new HttpError(405, 'method_not_allowed', detail, { Allow: allowed })
  }
}

/** All routes of an app share these. */
type Shared = {
  json: JsonBodies
  turn: ReturnType<typeof createRequestTurns>
  inLargeTurn: ReturnType<typeof createLargeAnswerTurns>
}

function serve(route: Route, options: HttpAppOptions, { json, turn, inLargeTurn }: Shared) {
  const authenticate = options.authenticators[route.access]
  if (!authenticate) throw new Error(`no authenticator for ${route.access}`)
  return async (request: Request, response: Response) => {
    requestContext(response).route = route.path
    try {
      const origin = { requestId: requestContext(response).requestId, address: request.ip ?? '' }
      const caller = await authenticate({ route, request, response, origin })
      const account = accountOf(caller, request)
      const ownTurn = () => turn(account)
      await ownTurn()
      const params = route.params && parseParams(route.params, request)
      const query = route.query && validate(route.query, request.query)
      const memory = options.bodyMemory.open(account)
      try {
        const incoming = { route, caller, request, response, json, memory, turn: ownTurn }
        const handle = ({ note, ...received }: ReceivedBody) => {
          if (note !== null) response.setHeader(warningHeader, note)
          return route.handle({
            ...received,
            caller,
            params,
            query,
            headers: request.headers,
            isSecure: request.secure,
            setHeader: (name, value) => setHeader(response, name, value),
            get signal() {
              return clientGone(response)
            },
          })
        }
        const sending = { turn: ownTurn, hasTag: route.hasTag }
        if (route.rows || route.form) return await sendAnswer(response, await receiveStream(incoming, handle), sending)
        const received = await receiveJson(incoming)
        const answer = route.hasLargeAnswer ? inLargeTurn(account, () => handle(received)) : handle(received)
        await sendAnswer(response, await answer, sending)
      } finally {
        memory.release()
      }
    } catch (error) {
      await sendProblem(error, request, response, options)
    }
  }
}

/** A warning stands behind what is told of the body. */
function setHeader(response: Response, name: string, value: string) {
  const told = name === warningHeader ? response.getHeader(name) : undefined
  response.setHeader(name, told === undefined ? value : `${String(told)} ${value}`)
}

/** The account that pays for a body. A pod's token is checked after its body, so pods are told apart by their addresses. */
const accountOf = (caller: CallerOf[Access], request: Request): string =>
  'accountId' in caller ? (caller.accountId ?? 'operator') : (request.ip ?? '')

/** Text that cannot be an id gets the same 404 as a path without a route. */
function parseParams(schema: z.ZodType, request: Request): unknown {
  const parsed = schema.safeParse(request.params)
  if (!parsed.success) throw routeNotFound(request)
  return parsed.data
}
