// The client of the service's API, with types made from its OpenAPI document (`npm run console:types`).
import createClient from 'openapi-fetch'
import { noteAnswer } from './connection.ts'
import { ApiError, isMissingScope, NoAnswer, problemOf } from './errors.ts'
import { currentSession, keepSession } from './session.ts'
import type { paths } from './types.ts'

/** Sends a request with the session, and notes whether the service answers. @throws NoAnswer, ApiError */
export async function send(input: string | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(input instanceof Request ? input.headers : init.headers)
  const session = currentSession()
  if (session) headers.set('X-Console-Token', session.pageToken)
  let response: Response
  try {
    response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    noteAnswer(false)
    throw new NoAnswer(error)
  }
  noteAnswer(![502, 504].includes(response.status))
  if (response.ok) return response
  const problem = new ApiError(problemOf(response.status, await response.json().catch(() => null)))
  // The session that asked has ended; a newer one of another tab stays.
  if (problem.status === 401 && !isMissingScope(problem) && currentSession() === session) keepSession(null)
  throw problem
}

export const api = createClient<paths>({ baseUrl: location.origin, fetch: send })

/** The answer of a typed request. Failures were thrown by `send`. */
export async function answerOf<T>(request: Promise<{ data?: T }>): Promise<T> {
  return (await request).data as T
}

/** For routes that this build may not have. @returns null when there is no such route or object */
export async function getIfThere<T>(path: string, signal?: AbortSignal): Promise<T | null> {
  try {
    return (await (await send(path, signal ? { signal } : {})).json()) as T
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return null
    throw error
  }
}

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
  return (await (await send(path, signal ? { ...init, signal } : init)).json()) as T
}
