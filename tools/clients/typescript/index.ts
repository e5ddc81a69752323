// The hand-written part of the TypeScript client: a connection, errors with their code, and pages. All else is generated.
import createClient, { type Client as FetchClient } from 'openapi-fetch'
import type { components, paths } from './schema.js'

export type { components, paths } from './schema.js'
export type Schemas = components['schemas']
export type Client = FetchClient<paths>

export type Answer<T> = { data?: T | undefined; error?: unknown; response: Response }

/** A refusal of the service. `code` is a stable word, `message` a sentence that says what to fix. */
export class AnnealError extends Error {
  readonly status: number
  readonly code: string
  /** Names the request in the service's log. */
  readonly requestId: string | null
  /** For input errors: what is wrong where. */
  readonly issues: readonly { path: string; message: string }[]
  /** Seconds to wait before the next try; null when the service names none. */
  readonly retryAfterSeconds: number | null

  constructor(error: unknown, { status, headers }: Response) {
    const { detail, code, errors, error: nested } = (error ?? {}) as Problem
    super(detail ?? nested?.message ?? `The service answered ${status}.`)
    this.name = 'AnnealError'
    this.status = status
    this.code = code ?? nested?.code ?? 'unknown'
    this.requestId = headers.get('x-request-id')
    this.issues = errors ?? []
    this.retryAfterSeconds = headers.has('retry-after') ? Number(headers.get('retry-after')) : null
  }
}

/** Routes of /openai/v1 answer errors as OpenAI does, with `error`. */
type Problem = {
  detail?: string
  code?: string
  errors?: { path: string; message: string }[]
  error?: { message?: string; code?: string | null }
}

export const connect = ({ url, apiKey }: { url: string; apiKey: string }): Client =>
  createClient<paths>({ baseUrl: url.replace(/\/+$/, ''), headers: { Authorization: `Bearer ${apiKey}` } })

/**
 * The value of an answer: `const job = await result(client.GET('/v1/train/jobs/{job_id}', …))`.
 * @throws AnnealError when the service refuses
 */
export async function result<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  if (!response.ok) throw new AnnealError(error, response)
  return data as T
}

/**
 * All pages of a list, one after the other. `ask` gets what to send as `after` (or `offset`); undefined for the first page.
 * @throws AnnealError when the service refuses
 */
export async function* pages<T>(ask: (after: string | undefined) => Promise<Answer<T>>): AsyncGenerator<T> {
  for (let after: string | undefined; ;) {
    const answer = await ask(after)
    const page = await result(Promise.resolve(answer))
    yield page
    const next = nextOf(page, answer.response)
    if (next === null) return
    after = next
  }
}

/** Lists name the next page in `next`; those of /openai/v1 by their last id; the list of jobs in a Link header. */
function nextOf(page: unknown, { headers }: Response): string | null {
  const { next, has_more, last_id, data } = page as {
    next?: string | number | null
    has_more?: boolean
    last_id?: string
    data?: { id: string }[]
  }
  if (next !== undefined) return next === null ? null : String(next)
  if (has_more) return last_id ?? data?.at(-1)?.id ?? null
  const link = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]
  return link === undefined ? null : new URL(link, 'http://service').searchParams.get('after')
}
