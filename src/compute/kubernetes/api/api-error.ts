/** An error answer of the API server: its HTTP status and its sentence. */
export class ApiError extends Error {
  readonly status: number
  readonly reason: string
  readonly retryAfterMs: number | null

  constructor(status: number, body: string, retryAfter: string | undefined) {
    const { message, reason } = readStatus(body)
    super(message ?? `The Kubernetes API answered with status ${status}.`)
    this.name = 'ApiError'
    this.status = status
    this.reason = reason ?? ''
    const seconds = Number(retryAfter)
    this.retryAfterMs = retryAfter !== undefined && seconds >= 0 ? seconds * 1000 : null
  }
}

export function hasStatus(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

function readStatus(body: string): { message?: string; reason?: string } {
  try {
    const { message, reason } = JSON.parse(body) as { message?: unknown; reason?: unknown }
    return {
      ...(typeof message === 'string' && message !== '' && { message }),
      ...(typeof reason === 'string' && { reason }),
    }
  } catch {
    return {}
  }
}
