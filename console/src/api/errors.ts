// Failures of requests. `message` is the sentence of the service, or says that it does not answer.

export type Problem = {
  status: number
  code: string
  detail: string
  request_id?: string
  errors?: { path: string; message: string }[]
}

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  readonly issues: readonly { path: string; message: string }[]

  constructor({ status, code, detail, request_id: requestId, errors }: Problem) {
    super(detail)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.requestId = requestId ?? null
    this.issues = errors ?? []
  }
}

/** The service gave no answer. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('The service does not answer.', { cause })
    this.name = 'NoAnswer'
  }
}

/** The request may succeed later without a change. */
export const isOutage = (error: unknown) =>
  error instanceof NoAnswer || (error instanceof ApiError && [502, 503, 504].includes(error.status))

/** @returns null when the service answers with this status */
export async function unless<T>(status: number, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return null
    throw error
  }
}

/** A key lacks a scope, or a person a role; the session itself is fine. */
export const isMissingScope = (error: ApiError) =>
  error.status === 401 && /with the scope|needs the role/.test(error.message)

/** /openai/v1 writes its errors in OpenAI's form. */
export function problemOf(status: number, body: unknown): Problem {
  if (typeof body === 'object' && body !== null) {
    if ('detail' in body) return { ...(body as Problem), status }
    if ('error' in body) {
      const { message, code } = body.error as { message: string; code?: string | null }
      return { status, code: code ?? 'error', detail: message }
    }
  }
  return { status, code: 'error', detail: `The service answered with status ${status}.` }
}
