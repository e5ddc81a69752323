// The command line knows the service by HTTP only, as any client does.
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, exitCodes } from '../command-error.ts'
import { serverSentEvents, type ServerSentEvent } from './server-sent-events.ts'

const coldModelTimeoutMs = 180_000
const cancelTimeoutMs = 5_000
/** The supervisor restarts a dead api within a second. */
const maxUnanswered = 10
const unansweredPauseMs = 500

export type Address = { apiUrl: string; apiKey: string }

export type Client = {
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: unknown): Promise<T>
  put<T>(path: string, body: unknown): Promise<T>
  delete<T>(path: string): Promise<T>
  /** Yields the events of a stream up to its `end`. Continues after a broken connection. */
  follow(path: string): AsyncGenerator<ServerSentEvent>
  /** Sends a request and yields the pieces of its answer, as text, as they come. */
  stream(path: string, body: unknown): AsyncGenerator<string>
  /** Uploads to a presigned URL, which needs no key. */
  upload(url: string, file: Blob): Promise<void>
  /** Also works after an interruption. */
  cancel(jobId: string): Promise<void>
}

export function createClient({ apiUrl, apiKey }: Address, signal: AbortSignal): Client {
  return {
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
    put: (path, body) => request('PUT', path, body),
    delete: (path) => request('DELETE', path),
    follow,
    async *stream(path, body) {
      const response = await ask('POST', path, body, {})
      try {
        yield* response.body?.pipeThrough(new TextDecoderStream()) ?? []
      } catch (error) {
        unlessAborted(signal)(error)
        throw new CommandError(`${apiUrl} ended its answer too early.`, exitCodes.unreachable)
      }
    },
    upload: async (url, body) => {
      const response = await fetch(url, { method: 'PUT', body, signal }).catch(unlessAborted(signal))
      if (!response) throw new CommandError(`${new URL(url).origin} does not answer.`, exitCodes.unreachable)
      if (!response.ok) throw new CommandError(`The upload was refused: ${response.status} ${await response.text()}`)
      await response.body?.cancel()
    },
    cancel: async (jobId) => {
      await request('POST', `/v1/train/jobs/${jobId}/cancel`, undefined, {
        until: AbortSignal.timeout(cancelTimeoutMs),
      })
    },
  }

  async function request<T>(method: string, path: string, body?: unknown, options: AskOptions = {}): Promise<T> {
    return (await (await ask(method, path, body, options)).json()) as T
  }

  async function* follow(path: string): AsyncGenerator<ServerSentEvent> {
    for (let more: Record<string, string> = {}; ;) {
      const { body } = await ask('GET', path, undefined, { more })
      try {
        for await (const each of serverSentEvents(body ?? emptyBody())) {
          yield each
          if (each.event === 'end') return
          more = { 'Last-Event-ID': each.id }
        }
      } catch (error) {
        unlessAborted(signal)(error)
      }
      await sleep(unansweredPauseMs, undefined, { signal })
    }
  }

  /** Repeats a request that is answered with Retry-After (a model starts, too many requests) for three minutes. */
  async function ask(
    method: string,
    path: string,
    body: unknown,
    { until = signal, more = {} }: AskOptions,
  ): Promise<Response> {
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', ...more }
    let unanswered = 0
    for (const deadline = performance.now() + coldModelTimeoutMs; ;) {
      const response = await fetch(apiUrl + path, {
        method,
        signal: until,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).catch(unlessAborted(until))
      if (!response) {
        // Only a read may be asked twice: a write may have been done before its answer was lost.
        if (method !== 'GET' || ++unanswered > maxUnanswered)
          throw new CommandError(`${apiUrl} does not answer.`, exitCodes.unreachable)
        await sleep(unansweredPauseMs, undefined, { signal: until })
        continue
      }
      if (response.ok) return response
      const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (Number.isNaN(retryAfterSeconds) || performance.now() > deadline) throw await refusal(method, path, response)
      await response.body?.cancel()
      await sleep(Math.max(retryAfterSeconds, 1) * 1000, undefined, { signal: until })
    }
  }
}

const emptyBody = () => new ReadableStream<Uint8Array>({ start: (controller) => controller.close() })

/** `more` are headers. */
type AskOptions = { until?: AbortSignal; more?: Record<string, string> }

function unlessAborted(signal: AbortSignal) {
  return (error: unknown) => {
    if (signal.aborted) throw error
    return null
  }
}

async function refusal(method: string, path: string, response: Response): Promise<CommandError> {
  const problem = (await response.json().catch(() => ({}))) as { detail?: string }
  return new CommandError(problem.detail ?? `${method} ${path} answered ${response.status} without a detail.`)
}
