// The client of the service's API, with types made from its OpenAPI document (`npm run console:types`).
import { noteAnswer } from './connection.ts'
import { ApiError, isMissingScope, NoAnswer, problemOf } from './errors.ts'
import type { AnswerOf, Method, PathWith, RequestOptions } from './operation.ts'
import { currentSession, noteEnd, onSessionChange } from './session.ts'

const notChanged = 304
const mostKept = 20

/** The newest answers that have a tag, by their address. A page that asks again gets the same object while nothing changes. */
const kept = new Map<string, { tag: string; answer: unknown }>()
onSessionChange(() => kept.clear())

function keep(address: string, tag: string | null, answer: unknown) {
  if (tag === null) return
  kept.delete(address)
  kept.set(address, { tag, answer })
  const [oldest] = kept.keys()
  if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
}

/** Sends a request with the session, and notes whether the service answers. @throws NoAnswer, ApiError */
export async function send(address: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const session = currentSession()
  if (session) headers.set('X-Console-Token', session.pageToken)
  let response: Response
  try {
    response = await fetch(address, { ...init, headers, credentials: 'same-origin' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    noteAnswer(false)
    throw new NoAnswer(error)
  }
  noteAnswer(![502, 504].includes(response.status))
  if (response.ok || response.status === notChanged) return response
  const problem = new ApiError(problemOf(response.status, await response.json().catch(() => null)))
  // The session that asked has ended; a newer one of another tab stays. A refused link says nothing about the session.
  const isOfSession = problem.status === 401 && !isMissingScope(problem) && !address.startsWith('/v1/console/links/')
  if (isOfSession && currentSession() === session) noteEnd()
  throw problem
}

const calls =
  <M extends Method>(method: M) =>
  async <P extends PathWith<M>>(path: P, ...[options]: RequestOptions<M, P>): Promise<AnswerOf<M, P>> => {
    const { params, body, headers, signal } = (options ?? {}) as AnyOptions
    const address = addressOf(path, params)
    const known = method === 'get' ? kept.get(address) : undefined
    const response = await send(address, {
      method: method.toUpperCase(),
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(known && { 'If-None-Match': known.tag }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    if (known && response.status === notChanged) return known.answer as AnswerOf<M, P>
    const answer = (await response.json()) as AnswerOf<M, P>
    if (method === 'get') keep(address, response.headers.get('ETag'), answer)
    return answer
  }

/** A function for each method, typed by the path. Each gives the answer of the API. @throws NoAnswer, ApiError */
export const api = { GET: calls('get'), POST: calls('post'), PUT: calls('put'), DELETE: calls('delete') }

type Values = Record<string, string | number | boolean | null | undefined>
type AnyOptions = {
  params?: { path?: Values; query?: Values }
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

function addressOf(path: string, { path: names = {}, query = {} }: { path?: Values; query?: Values } = {}): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(names[name])))
  const given = Object.entries(query).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]))
  return given.length === 0 ? filled : `${filled}?${new URLSearchParams(given)}`
}
