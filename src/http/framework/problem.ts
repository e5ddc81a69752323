// Every refusal and failure in the form of RFC 9457. The only place that knows which error is which status.
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { ServiceError, type InputIssue, type ServiceErrorCode } from '../../domain/service-error.ts'
import { isOutage } from './outage.ts'
import { named } from './named-schemas.ts'

export const Problem = named(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('One sentence that says what to fix'),
    instance: z.string(),
    code: z.string().describe('A stable word'),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  }),
)
export type Problem = z.infer<typeof Problem>

const statuses = {
  invalid_input: 400,
  invalid_token: 401,
  not_found: 404,
  model_not_found: 404,
  request_timeout: 408,
  conflict: 409,
  attempt_fenced: 410,
  server_fenced: 410,
  artifact_incomplete: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  unsupported_runtime: 426,
  rate_limited: 429,
  quota_exceeded: 429,
  unavailable: 503,
} as const satisfies Record<ServiceErrorCode, number>

/** Answered with `Retry-After`. */
const mayBeRepeated: readonly ServiceErrorCode[] = ['unavailable', 'rate_limited', 'quota_exceeded']

/** Clients of the old SDK know a missing model by this status alone. */
const legacyModelNotFound = 594

const defaultRetryAfterSeconds = 5

const maxShownCharacters = 100

/** What a caller sent, for a sentence to be read. */
export const shortened = (text: string) =>
  text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text

/** A refusal that only HTTP knows. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'HttpError'
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** How refusals are written for paths that begin so. */
export type ErrorFormat = {
  pathPrefix: string
  contentType: string
  schema: z.ZodType
  bodyOf: (refusal: Refusal, at: { path: string; requestId: string }) => object
}

export type Refusal = {
  status: number
  code: string
  detail: string
  issues: readonly InputIssue[]
  headers: Readonly<Record<string, string>>
  /** A bug of ours or an outage, to be logged with the error itself. */
  isOurs: boolean
}

export function describeError(error: unknown, request: Pick<IncomingMessage, 'headers'>): Refusal {
  if (error instanceof ServiceError) return ofService(error, request)
  if (error instanceof HttpError)
    return {
      status: error.status,
      code: error.code,
      detail: error.message,
      issues: [],
      headers: error.headers,
      isOurs: false,
    }
  if (isOutage(error))
    return {
      status: 503,
      code: 'unavailable',
      detail: 'A part of the service cannot be reached at the moment; try again soon.',
      issues: [],
      headers: { 'Retry-After': String(defaultRetryAfterSeconds) },
      isOurs: true,
    }
  const detail = 'Something went wrong on our side; the request_id names this request in our logs.'
  return { status: 500, code: 'internal_error', detail, issues: [], headers: {}, isOurs: true }
}

function ofService(error: ServiceError, request: Pick<IncomingMessage, 'headers'>): Refusal {
  const isLegacy = error.code === 'model_not_found' && request.headers['lamini-version'] !== undefined
  const headers: Record<string, string> = {}
  if (error.code === 'invalid_token') headers['WWW-Authenticate'] = 'Bearer'
  if (mayBeRepeated.includes(error.code))
    headers['Retry-After'] = String(error.retryAfterSeconds ?? defaultRetryAfterSeconds)
  return {
    status: isLegacy ? legacyModelNotFound : statuses[error.code],
    code: error.code,
    detail: error.message,
    issues: error.issues,
    headers,
    isOurs: false,
  }
}

const problemFormat: ErrorFormat = {
  pathPrefix: '/',
  contentType: 'application/problem+json',
  schema: Problem,
  bodyOf: problemOf,
}

export const errorFormatFor = (path: string, forms: readonly ErrorFormat[] = []) =>
  forms.find(({ pathPrefix }) => path.startsWith(pathPrefix)) ?? problemFormat

export function problemOf({ status, code, detail, issues }: Refusal, at: { path: string; requestId: string }): Problem {
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Model Not Found',
    status,
    detail,
    instance: at.path,
    code,
    request_id: at.requestId,
    ...(issues.length > 0 ? { errors: [...issues] } : {}),
  }
}
