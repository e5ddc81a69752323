// The types of the service's operations, taken from its routes. Only types: the command line runs without the servers' code.
import type { z } from 'zod'
import type { publicRoutes } from '../../http/app.ts'
import type { adminRoutes } from '../../internal-http/admin-app.ts'

/** Each path is a literal: a route whose path is only `string` would hide the others. */
type AnyRoute = (typeof publicRoutes)[number] | (typeof adminRoutes)[number]

export type Method = AnyRoute['method']
export type PathWith<M extends Method> = Extract<AnyRoute, { method: M }>['path']
type RouteAt<M extends Method, P> = Extract<AnyRoute, { method: M; path: P }>

export type Answer<M extends Method, P extends string> =
  RouteAt<M, P> extends { response: z.ZodType<unknown, infer R> } ? R : never

/** The names of the parameters in a path such as /v1/data/:dataset_id/rows. */
type Names<P> = P extends `${string}/:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | Names<`/${More}`>
    : Rest
  : never

type QueryOf<R> = R extends { query?: infer S extends z.ZodObject | undefined }
  ? keyof z.input<Exclude<S, undefined>>
  : never
type BodyOf<R> = R extends { body?: infer S extends z.ZodObject | undefined } ? z.input<Exclude<S, undefined>> : {}
type Fields<B> = { [K in keyof B]: unknown }

/** Values come from the user as text, and the service checks them. The compiler checks their names. */
export type Request<M extends Method, P extends string> = {
  query?: { [K in QueryOf<RouteAt<M, P>>]?: string | undefined }
} & ([Names<P>] extends [never] ? { params?: never } : { params: Record<Names<P>, string> }) &
  ({} extends Fields<BodyOf<RouteAt<M, P>>>
    ? { body?: Fields<BodyOf<RouteAt<M, P>>> }
    : { body: Fields<BodyOf<RouteAt<M, P>>> })

/** May be left out where nothing of it is required. */
export type Requested<M extends Method, P extends string> =
  {} extends Request<M, P> ? [Request<M, P>?] : [Request<M, P>]
