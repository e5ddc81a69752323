// Which statuses a route can refuse with, and what each means: derived from its definition, for the OpenAPI document.
import { z } from 'zod'
import type { Route } from './route.ts'

const meanings = {
  400: 'A value is wrong; errors names it',
  401: 'The key is missing, unknown, expired or revoked, or lacks the scope',
  404: 'There is no such thing in this account',
  408: 'The body did not arrive in time',
  409: 'Its state does not allow this',
  413: 'The body is too large',
  415: 'The body is not application/json',
  422: 'This Idempotency-Key was used for another request',
  429: 'Too many requests; Retry-After says when to come again',
  500: 'A bug of ours; request_id names the request in our logs',
  503: 'Busy: a model is starting or does not answer, or a part of the service is away; Retry-After says when to come again',
  594: 'There is no such model (instead of 404, for clients that send Lamini-Version)',
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
