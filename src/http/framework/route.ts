// One definition per route: the Express mount, the OpenAPI document and the 405 table are all derived from it.
import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Scope } from '../../domain/scopes.ts'
import type { AdminCtx, Ctx, PodCtx, ServiceDependencies } from '../../services/context.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import type { ReceivedRows, RowsOfFields, RowsOptions } from '../../services/datasets/ingest-rows.ts'
import type { ErrorStatus } from './error-statuses.ts'
import type { EventStream, FileBytes, JsonText } from './respond.ts'

/** Who may call, and what the handler gets for it. */
export type CallerOf = { key: Ctx; admin: AdminCtx; pod: PodCtx; none: ServiceDependencies }
export type Access = keyof CallerOf

type RouteRequest<A extends Access, P, Q, B> = {
  caller: CallerOf[A]
  params: P
  query: Q
  body: B
  /** Of the fields that carry them, in a route that takes `rows`. They are gone after the answer unless a service keeps them. */
  rows: RowsOfFields
  /** In a route that takes a form: its file, gone after the answer unless a service keeps it. */
  file: ReceivedRows | null
  headers: IncomingHttpHeaders
  /** Null when the client sent no Idempotency-Key. */
  idempotency: Idempotency
  /** Aborts when the client has gone before its answer. */
  signal: AbortSignal
  /** Of the answer, beside the usual ones. */
  setHeader: (name: string, value: string) => void
}

/** A route for keys names the one scope that a key must have. */
type ScopeOf<A extends Access> = A extends 'key' ? { scope: Scope } : { scope?: never }

/** What a handler may answer: a JSON value, pages of a JSON array to be streamed, JSON that is text already, events, or a file. */
type Answer<R> = R | AsyncIterable<R> | JsonText | EventStream | FileBytes

type Definition<A extends Access, P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R> = {
  /** Unique; the operation id of the OpenAPI document. */
  name: string
  method: 'get' | 'post' | 'delete'
  /** In Express form. `/v1/svc/...` is also served under the configured service name. */
  path: string
  aliases?: readonly string[]
  summary: string
  access: A
  params?: P
  query?: Q
  /** A route without one takes any JSON object, or nothing. */
  body?: B
  bodyLimitBytes?: number
  /** These arrays of the body go to the object store while they arrive; the handler gets `rows`, and null in their place. */
  rows?: RowsOptions
  /** Takes a multipart form with one file; `body` is the schema of its fields, the file's among them as its name. */
  form?: { limitBytes: number }
  /** Its strings may hold NUL: they are stored nowhere. */
  allowsNul?: boolean
  /** Creates something: honours Idempotency-Key. */
  idempotent?: boolean
  /** Statuses that its definition does not imply. */
  errorStatuses?: readonly ErrorStatus[]
  response: z.ZodType<unknown, R>
  /** What a 200 may be beside that. */
  alsoAnswers?: 'text/event-stream' | 'application/octet-stream'
  handle(request: RouteRequest<A, z.output<P>, z.output<Q>, z.output<B>>): Promise<Answer<R>> | Answer<R>
}

export type Route = Definition<Access, z.ZodType, z.ZodType, z.ZodType, unknown> & { scope?: Scope }

/**
 * Types the handler by the route's own schemas and then forgets them, so that routes of all shapes fit one list.
 * Safe because the mount calls `handle` only with what these schemas and this access have produced.
 */
export function defineRoute<
  A extends Access,
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  R = unknown,
>(definition: Definition<A, P, Q, B, R> & ScopeOf<A>): Route {
  return definition as unknown as Route
}

/** Every path of a route, in Express form. */
export function pathsOf({ path, aliases = [] }: Route, serviceName: string): string[] {
  const paths = [path, ...aliases]
  const named = paths
    .filter((each) => each.startsWith('/v1/svc/'))
    .map((each) => each.replace('/svc/', `/${serviceName}/`))
  return [...new Set([...paths, ...named])]
}
