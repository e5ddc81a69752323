// GET /internal/v1/admin/overview, one job, the usage of all accounts, and the switch of the page.
import { noteAnswer } from '../api/connection.ts'
import { ApiError, NoAnswer, problemOf } from '../api/errors.ts'
import type { paths } from '../api/types.ts'

type AnswerOf<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Answer } } } }
  ? Answer
  : never

export type Overview = AnswerOf<paths['/internal/v1/admin/overview']['get']>
export type OperatorJob = Overview['holders'][number]
export type FailedWork = Overview['failed_work'][number]
export type JobRecord = AnswerOf<paths['/internal/v1/admin/jobs/{job_id}']['get']>
export type Maintenance = NonNullable<Overview['maintenance']>
type UsageAnswer = AnswerOf<paths['/internal/v1/admin/usage']['get']>
export type AccountUsage = UsageAnswer['usage'][number]

/** The most that one page of the route holds; the file has all. */
const mostUsage = 1000

/** @throws NoAnswer, ApiError */
export const readUsage = async (
  token: string,
  { from, group }: { from: string; group: string },
  signal: AbortSignal,
): Promise<UsageAnswer> => {
  const query = new URLSearchParams({ from, group_by: group, limit: String(mostUsage) })
  return ask(token, `/usage?${query.toString()}`, { signal })
}

/** By account, model and day. @throws NoAnswer, ApiError */
export const readUsageFile = async (token: string, from: string): Promise<Blob> =>
  (await send(token, `/usage?${new URLSearchParams({ from, format: 'csv' }).toString()}`)).blob()

/** @throws NoAnswer, ApiError */
export const readOverview = (token: string, signal: AbortSignal): Promise<Overview> =>
  ask<Overview>(token, '/overview', { signal })

/** One job of any account. @throws NoAnswer, ApiError */
export const readJob = (token: string, id: string, signal: AbortSignal): Promise<JobRecord> =>
  ask<JobRecord>(token, `/jobs/${encodeURIComponent(id)}`, { signal })

/** Stops new work, or lets it go on. @throws NoAnswer, ApiError */
export const setMaintenance = (token: string, body: { on: boolean; message?: string }) =>
  ask<{ maintenance: Maintenance | null }>(token, '/maintenance', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

const ask = async <T>(token: string, path: string, request: Request): Promise<T> =>
  (await send(token, path, request)).json() as Promise<T>

type Request = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }

/** Knows no session, unlike `send` of the other pages. */
async function send(token: string, path: string, { headers, ...request }: Request = {}): Promise<Response> {
  const { signal } = request
  const authorised = { ...request, headers: { ...headers, Authorization: `Bearer ${token}` } }
  const response = await fetch(`/internal/v1/admin${path}`, authorised).catch((error: unknown) => {
    if (!signal?.aborted) noteAnswer(false)
    throw signal?.aborted ? error : new NoAnswer(error)
  })
  noteAnswer(true)
  if (!response.ok) throw new ApiError(problemOf(response.status, await response.json().catch(() => null)))
  return response
}
