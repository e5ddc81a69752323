// The answer of GET /internal/v1/admin/overview. The admin port has no OpenAPI document.
import { noteAnswer } from '../api/connection.ts'
import { ApiError, NoAnswer, problemOf } from '../api/errors.ts'

export type Overview = {
  outbox: { messages: number; age_seconds: number }
  attempts: { waiting: number; running: number; releases: number; release_age_seconds: number }
  webhook_lag_seconds: number
  slots: number | null
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

/** Knows no session, unlike `send` of the other pages. @throws NoAnswer, ApiError */
export async function readOverview(token: string, signal: AbortSignal): Promise<Overview> {
  const headers = { Authorization: `Bearer ${token}` }
  const response = await fetch('/internal/v1/admin/overview', { headers, signal }).catch((error: unknown) => {
    if (!signal.aborted) noteAnswer(false)
    throw signal.aborted ? error : new NoAnswer(error)
  })
  noteAnswer(true)
  const answer: unknown = await response.json().catch(() => null)
  if (!response.ok) throw new ApiError(problemOf(response.status, answer))
  return answer as Overview
}
