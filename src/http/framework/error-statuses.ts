// The error statuses of each route and their meanings, derived from its definition for the OpenAPI document.
import { z } from 'zod'
import type { Route } from './route.ts'

const meanings = {
  400: 'A value is invalid; errors names each field',
  401: 'The key is missing, unknown, expired or revoked, or lacks the scope',
  404: 'The account has no object with this id or name',
  408: 'The body arrived too slowly',
  409: 'The state of the object does not allow this',
  413: 'The body is larger than the limit of the route',
  415: 'The body has the wrong Content-Type',
  422: 'The Idempotency-Key was used with another request',
  429: 'Too many requests, or a quota is used up; retry after the seconds in Retry-After',
  500: 'An internal error; X-Request-Id identifies the request in the log',
  503: 'A model is starting or does not answer, or the database or object store is away; retry after the seconds in Retry-After',
  594: 'The model is unknown (instead of 404, for clients that send Lamini-Version)',
}
export type ErrorStatus = keyof typeof meanings

export function errorStatusesOf(route: Route): [ErrorStatus, string][] {
  const statuses = new Set<ErrorStatus>([500, 503])
  const add = (when: boolean, ...more: ErrorStatus[]) => when && more.forEach((status) => statuses.add(status))
  add(route.access === 'key', 401, 429)
  add(route.method !== 'get' || route.query !== undefined, 400)
  add(route.method !== 'get', 408, 413, 415)
  add(route.params !== undefined, 404)
  add(namesModel(route), 404, 594)
  add(route.idempotent === true, 422)
  add(true, ...(route.errorStatuses ?? []))
  return [...statuses].toSorted((a, b) => a - b).map((status) => [status, meanings[status]])
}

const namesModel = ({ body, path }: Route) =>
  (body instanceof z.ZodObject && ('model_name' in body.shape || 'hf_model_name' in body.shape)) ||
  path.startsWith('/v1/models/')
