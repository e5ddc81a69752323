// The error statuses of each route and their meanings, derived from its definition for the OpenAPI document.
import { meanings, type ErrorStatus } from './error-meanings.ts'
import type { Route } from './route.ts'

export function errorStatusesOf(route: Route): [ErrorStatus, string][] {
  const statuses = new Set<ErrorStatus>([500, 503])
  const add = (when: boolean, ...more: ErrorStatus[]) => when && more.forEach((status) => statuses.add(status))
  add(route.access === 'key', 401, 429)
  add(route.method !== 'get' || route.query !== undefined, 400)
  add(route.method !== 'get', 408, 413, 415)
  add(route.params !== undefined, 404)
  add(route.idempotent === true, 422)
  add(true, ...(route.errorStatuses ?? []))
  return [...statuses].toSorted((a, b) => a - b).map((status) => [status, meanings[status]])
}
