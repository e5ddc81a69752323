// The definition of a route. The Express handlers, the OpenAPI document and the Allow headers are derived from it.
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Scope } from '../../domain/scopes.ts'
import type { AdminCtx, Ctx, OpenCtx, PodCtx } from '../../services/context.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import type { ReceivedRows, RowsOfFields, RowsOptions } from '../../services/datasets/ingest-rows.ts'
import type { ErrorStatus } from './error-meanings.ts'
import type { EventStream, EventText, FileBytes, JsonText } from './respond.ts'

/** Holds sentences in ASCII about a request that was carried out. Bodies of completions hold the asked fields only. */
export const warningHeader = 'X-Anneal-Warning'

type Method = 'get' | 'post' | 'put' | 'delete'

/** Kinds of callers, and the context that a handler gets for each. */
export type CallerOf = { key: Ctx; admin: AdminCtx; pod: PodCtx; none: OpenCtx }
export type Access = keyof CallerOf

type RouteRequest<A extends Access, P, Q, B> = {
  caller: CallerOf[A]
  params: P
  query: Q
  body: B
  /** The rows of each field named in the route's `rows`. They are removed after the answer unless a service keeps them. */
  rows: RowsOfFields
  /** The file of a form. It is removed after the answer unless a service keeps it. */
  file: ReceivedRows | null
  headers: IncomingHttpHeaders
  /** Whether the client used TLS, to us or to a trusted proxy. */
  isSecure: boolean
  /** Null when the client sent no Idempotency-Key. */
  idempotency: Idempotency
  /** Aborts when the client leaves before it has the answer. */
  signal: AbortSignal
  /** Sets a header of the answer. */
  setHeader: (name: string, value: string) => void
}

/** A route for keys names the scope that a key needs; undefined takes every key. */
type ScopeOf<A extends Access> = A extends 'key' ? { scope: Scope | undefined } : { scope?: never }

/** A handler answers a JSON value, pages of a JSON array to be streamed, JSON text, events, or a file. */
type Answer<R> = R | AsyncIterable<R> | JsonText | EventStream | EventText | FileBytes

type Definition<
  A extends Access,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  R,
  M extends Method = Method,
  Path extends string = string,
> = {
  /** Unique: the operation id of the OpenAPI document. */
  name: string
  method: M
  /** In Express syntax. `/v1/svc/...` is also served under the configured service name. */
  path: Path
  aliases?: readonly string[]
  summary: string
  /** The chapter of the OpenAPI document. Routes of pods have none. */
  chapter?: string
  access: A
  params?: P
  query?: Q
  /** A route without a schema takes any JSON object, or nothing. */
  body?: B
  bodyLimitBytes?: number
  /** Arrays of the body that are streamed to the object store. The handler gets them as `rows`, and null in the body. */
  rows?: RowsOptions
  /** Takes a multipart form with one file. `body` is the schema of its fields; the file's field holds the file name. */
  form?: { limitBytes: number }
  /** Strings of the body may hold NUL, because no store gets them. */
  allowsNul?: boolean
  /** Honours the Idempotency-Key header. */
  idempotent?: boolean
  /** Error statuses beside those that the definition implies. */
  errorStatuses?: readonly ErrorStatus[]
  response: z.ZodType<unknown, R>
  /** The media type of a 200 answer that is no JSON. `response` then describes one event. */
  contentType?: 'text/event-stream'
  /** A 200 answer may have megabytes: an account's large answers are read one after the other. */
  hasLargeAnswer?: boolean
  /** A GET that clients repeat: its answer has an ETag, and a client that has the answer gets 304. */
  hasTag?: boolean
  /** The handler may set the warning header. */
  warns?: boolean
  /** Another media type that a 200 answer may have. */
  alsoAnswers?: 'text/event-stream' | 'application/octet-stream'
  handle(request: RouteRequest<A, z.output<P>, z.output<Q>, z.output<B>>): Promise<Answer<R>> | Answer<R>
}

export type Route = Definition<Access, z.ZodType, z.ZodType, z.ZodType, unknown> & { scope?: Scope | undefined }

/** A route that keeps the types of its requests and answers, for the command line. */
type TypedRoute<M extends Method, Path extends string, Q, B, R> = Route & {
  method: M
  path: Path
  query?: Q
  body?: B
  response: z.ZodType<unknown, R>
}

/**
 * Checks the types of the handler against the route's schemas, then erases those of the handler, so that all routes fit into
 * one list. The cast is safe because create-app.ts calls `handle` only with what these schemas and this access have produced.
 */
export function defineRoute<
  A extends Access,
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  R = unknown,
  const M extends Method = Method,
  const Path extends string = string,
>(definition: Definition<A, P, Q, B, R, M, Path> & ScopeOf<A>): TypedRoute<M, Path, Q, B, R> {
  return { query: noQuery, ...definition } as unknown as TypedRoute<M, Path, Q, B, R>
}

/** A route without a schema of its query takes no parameter: one that does nothing is refused. */
const noQuery = z.strictObject({})

/** The same routes for clients that may send parameters which nobody knows. */
export const ignoringUnknownQueries = <R extends Route>(routes: readonly R[]): R[] =>
  routes.map((route) => {
    const { query, ...others } = route
    return query === noQuery ? (others as R) : route
  })

/** Names the chapter of the routes that name none. */
export const inChapter = <R extends Route>(chapter: string, routes: readonly R[]): R[] =>
  routes.map((route) => ({ chapter, ...route }))

/** All paths of a route, in Express syntax. */
export function pathsOf({ path, aliases = [] }: Route, serviceName: string): string[] {
  const paths = [path, ...aliases]
  const named = paths
    .filter((each) => each.startsWith('/v1/svc/'))
    .map((each) => each.replace('/svc/', `/${serviceName}/`))
  return [...new Set([...paths, ...named])]
}
