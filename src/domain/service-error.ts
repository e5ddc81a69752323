// Refusals of the services. Each edge maps the code to a status; callers read `message`.

export type InputIssue = { path: string; message: string }

export type ServiceErrorCode =
  | 'invalid_input'
  | 'does_not_fit'
  | 'invalid_token'
  | 'not_found'
  | 'model_not_found'
  | 'request_timeout'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_mismatch'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'unavailable'
  | 'attempt_fenced'
  | 'server_fenced'
  | 'artifact_incomplete'
  | 'unsupported_runtime'

export class ServiceError extends Error {
  readonly code: ServiceErrorCode
  readonly issues: InputIssue[]
  /** A repeat may succeed after this time. Set for `unavailable`, `rate_limited` and `quota_exceeded`. */
  readonly retryAfterSeconds: number | undefined
  /** An `invalid_input` whose text does not fit into the model's context. OpenAI has a code of its own for it. */
  readonly isBeyondContext: boolean

  constructor(
    code: ServiceErrorCode,
    message: string,
    more: { issues?: InputIssue[]; retryAfterSeconds?: number; isBeyondContext?: boolean } = {},
  ) {
    super(message)
    this.name = 'ServiceError'
    this.code = code
    this.issues = more.issues ?? []
    this.retryAfterSeconds = more.retryAfterSeconds
    this.isBeyondContext = more.isBeyondContext ?? false
  }
}

export const invalidInput = (path: string, message: string) =>
  new ServiceError('invalid_input', message, { issues: [{ path, message }] })
