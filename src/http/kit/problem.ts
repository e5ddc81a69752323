// Turns every error into an answer as RFC 9457 asks. Only this file maps error codes to HTTP statuses.
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { ServiceError, type InputIssue, type ServiceErrorCode } from '../../domain/service-error.ts'
import { isOutage } from '../../domain/outage.ts'
import { named } from './named-schemas.ts'

export const Problem = named(
  'Problem',
  z.object({
    type: z.string().describe('Always about:blank; code tells the kinds of errors apart'),
    title: z.string().describe('The name of the HTTP status'),
    status: z.int().describe('The HTTP status'),
    detail: z.string().describe('A sentence that says what is wrong'),
    instance: z.string().describe('The path of the request'),
    code: z.string().describe('A machine-readable error code'),
    request_id: z.string().describe('The X-Request-Id of the request, also in the log of the service'),
    errors: z
      .array(
        z.object({
          path: z.string().describe('The field that is wrong, such as data[3].input'),
          message: z.string().describe('What is wrong with the field'),
        }),
      )
      .optional()
      .describe('The invalid fields; absent for other errors'),
  }),
)
export type Problem = z.infer<typeof Problem>

const statuses = {
  invalid_input: 400,
  does_not_fit: 400,
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

/** Errors answered with a Retry-After header. */
const retryable: readonly ServiceErrorCode[] = ['unavailable', 'rate_limited', 'quota_exceeded']

/** Old SDKs recognise a missing model by this status only. */
const legacyModelNotFound = 594

const defaultRetryAfterSeconds = 5

const maxShownCharacters = 100

/** Shortens what a caller sent, for use in a message. */
export const shortened = (text: string) =>
  text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text

/** An error that exists only in HTTP, such as a method that is not allowed. */
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

/** No route has this path. `hint` is a sentence for a path that belongs elsewhere. */
export const routeNotFound = ({ method, path }: { method: string; path: string }, hint: string | null = null) =>
  new HttpError(404, 'not_found', `There is no route ${method} ${shortened(path)}.${hint === null ? '' : ` ${hint}`}`)

/** How errors are written for paths that begin with `pathPrefix`. */
export type ErrorFormat = {
  pathPrefix: string
  contentType: string
  schema: z.ZodType
  bodyOf: (failure: Failure, at: { path: string; requestId: string }) => object
}

export type Failure = {
  status: number
  code: string
  detail: string
  issues: readonly InputIssue[]
  headers: Readonly<Record<string, string>>
  /** True for a bug or an outage: the error itself is then logged. */
  isOurs: boolean
  /** The text does not fit into the model's context. */
  isBeyondContext?: boolean
}

export function describeError(error: unknown, request: Pick<IncomingMessage, 'headers'>): Failure {
  if (error instanceof ServiceError) return describeServiceError(error, request)
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
      detail: 'The service cannot reach its database or object store. Try again in a few seconds.',
      issues: [],
      headers: { 'Retry-After': String(defaultRetryAfterSeconds) },
      isOurs: true,
    }
  const detail = 'An internal error occurred. The X-Request-Id header identifies this request in the service log.'
  return { status: 500, code: 'internal_error', detail, issues: [], headers: {}, isOurs: true }
}

function describeServiceError(error: ServiceError, request: Pick<IncomingMessage, 'headers'>): Failure {
  const isLegacy = error.code === 'model_not_found' && request.headers['lamini-version'] !== undefined
  const headers: Record<string, string> = {}
  if (error.code === 'invalid_token') headers['WWW-Authenticate'] = 'Bearer'
  if (retryable.includes(error.code))
    headers['Retry-After'] = String(error.retryAfterSeconds ?? defaultRetryAfterSeconds)
  return {
    status: isLegacy ? legacyModelNotFound : statuses[error.code],
    code: error.code,
    // A message may quote what the client sent, and strict parsers refuse lone surrogates.
    detail: error.message.toWellFormed(),
    issues: error.issues.map(({ path, message }) => ({
      path: path.toWellFormed(),
      message: message.toWellFormed(),
    })),
    headers,
    isOurs: false,
    isBeyondContext: error.isBeyondContext,
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

export function problemOf({ status, code, detail, issues }: Failure, at: { path: string; requestId: string }): Problem {
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
