// The types of one operation of the API, taken from `paths` of types.ts.
import type { paths } from './types.ts'

export type Method = 'get' | 'post' | 'put' | 'delete'

type Operation = {
  parameters: { query?: unknown; path?: unknown }
  requestBody?: unknown
  responses: { 200: { content: { 'application/json': unknown } } }
}

export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, Operation> ? P : never
}[keyof paths]

type OperationAt<M extends Method, P extends PathWith<M>> =
  paths[P] extends Record<M, infer O extends Operation> ? O : never

export type AnswerOf<M extends Method, P extends PathWith<M>> = OperationAt<
  M,
  P
>['responses'][200]['content']['application/json']

type Params<O extends Operation> = Pick<O['parameters'], 'query' | 'path'>
type Body<O extends Operation> = [NonNullable<O['requestBody']>] extends [never]
  ? { body?: never }
  : NonNullable<O['requestBody']> extends { content: { 'application/json': infer B } }
    ? { body: B }
    : { body?: never }

type Options<O extends Operation> = { headers?: Record<string, string>; signal?: AbortSignal } & Body<O> &
  (O['parameters'] extends { path: unknown } | { query: unknown } ? { params: Params<O> } : { params?: Params<O> })

/** May be left out where nothing of it is required. */
export type RequestOptions<M extends Method, P extends PathWith<M>> =
  {} extends Options<OperationAt<M, P>> ? [Options<OperationAt<M, P>>?] : [Options<OperationAt<M, P>>]
