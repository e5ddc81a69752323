// GET /internal/v1/admin/overview, and the switch of its page. The admin port has no OpenAPI document.
import { noteAnswer } from '../api/connection.ts'
import { ApiError, NoAnswer, problemOf } from '../api/errors.ts'

export type Maintenance = { since: string; message: string }

/** `slot_since` is null when the job holds no slot. */
export type OperatorJob = {
  job_id: number
  display_name: string
  account_id: string
  account_name: string
  dataset_id: string
  dataset_name: string
  base_model: string
  status: string
  status_reason: string | null
  status_message: string | null
  created_at: string
  finished_at: string | null
  attempt: number | null
  phase: string | null
  slot_since: string | null
}

export type Overview = {
  outbox: { messages: number; age_seconds: number }
  attempts: { waiting: number; running: number; releases: number; release_age_seconds: number }
  webhook_lag_seconds: number
  slots: number | null
  /** Null while new work starts. */
  maintenance: Maintenance | null
  holders: OperatorJob[]
  next: OperatorJob[]
  /** The jobs that failed today, in UTC. */
  failures: OperatorJob[]
  queues: {
    account_id: string
    name: string
    priority: string
    waiting: number
    running: number
    waiting_seconds: number
  }[]
  workers: {
    id: string
    host: string
    pid: number
    reporting: boolean
    polling: boolean
    activities: number
    started_at: string
    seen_at: string
  }[]
  reaped: { what: string; count: number }[]
  model_servers: {
    base_model: string
    state: string
    reason: string | null
    message: string | null
    last_used_at: string
    replicas: { instance: string; reporting: boolean; adapters: string[] | null }[]
  }[]
}

/** An entry has the fields that it is grouped by. */
export type AccountUsage = {
  day?: string
  account_id?: string
  account_name?: string
  model_name?: string
  display_name?: string | null
  prompts: number
  prompt_tokens: number
  completion_tokens: number
  engine_seconds: number
  training_seconds: number
  gpu_seconds: number
}

/** The most that one page of the route holds; the file has all. */
const mostUsage = 1000

/** @throws NoAnswer, ApiError */
export const readUsage = async (
  token: string,
  { from, group }: { from: string; group: string },
  signal: AbortSignal,
): Promise<AccountUsage[]> => {
  const query = new URLSearchParams({ from, group_by: group, limit: String(mostUsage) })
  return (await ask<{ usage: AccountUsage[] }>(token, `/usage?${query.toString()}`, { signal })).usage
}

/** By account, model and day. @throws NoAnswer, ApiError */
export const readUsageFile = async (token: string, from: string): Promise<Blob> =>
  (await send(token, `/usage?${new URLSearchParams({ from, format: 'csv' }).toString()}`)).blob()

/** @throws NoAnswer, ApiError */
export const readOverview = (token: string, signal: AbortSignal): Promise<Overview> =>
  ask<Overview>(token, '/overview', { signal })

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
