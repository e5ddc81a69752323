// The command line knows the service by HTTP only, as any client does.
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, exitCodes } from '../command-error.ts'
import { commandOf, inWordsOfCommands } from './command-of-route.ts'
import type { Answer, Method, PathWith, Requested } from './operations.ts'
import { serverSentEvents, type ServerSentEvent } from './server-sent-events.ts'

const coldModelTimeoutMs = 180_000
const cancelTimeoutMs = 5_000
/** The supervisor restarts a dead api within a second. */
const maxUnanswered = 10
const unansweredPauseMs = 500

/** `profile`: the one of anneal login that it is of. */
export type Address = { apiUrl: string; profile?: string } & ({ apiKey: string } | { person: Person })

/** Somebody who signed in. `token` gives another one than that which the service refused. */
type Person = { account: string | null; token: (refused?: string) => Promise<string> }

const methods = { get: 'GET', post: 'POST', put: 'PUT', delete: 'DELETE' } as const satisfies Record<Method, string>

type Call<M extends Method> = <P extends PathWith<M>>(path: P, ...request: Requested<M, P>) => Promise<Answer<M, P>>

/** A function for each method, typed by the routes of the service. */
export type Client = { [M in Method]: Call<M> } & {
  /** Yields the events of a job's stream up to its `end`. Continues after a broken connection. */
  follow(jobId: string, query?: { from: 'now' }): AsyncGenerator<ServerSentEvent>
  /** Sends a request and yields the pieces of its answer, as text, as they come. */
  stream<P extends PathWith<'post'>>(path: P, ...request: Requested<'post', P>): AsyncGenerator<string>
  /** Yields the pieces of a text that is no JSON. */
  read<P extends PathWith<'get'>>(path: P, ...request: Requested<'get', P>): AsyncGenerator<string>
  /** Uploads to a presigned URL, which needs no key. */
  upload(url: string, file: Blob): Promise<void>
  /** Also works after an interruption. */
  cancel(jobId: string): Promise<void>
}

/** @param onWarning gets the sentence of the service about a request that it carried out */
export function createClient(
  { apiUrl, profile: _profile, ...shown }: Address,
  signal: AbortSignal,
  onWarning: (sentence: string) => void = () => undefined,
): Client {
  return {
    get: calls('get'),
    post: calls('post'),
    put: calls('put'),
    delete: calls('delete'),
    follow,
    stream: (path, ...[request]) => textOf('post', path, request),
    read: (path, ...[request]) => textOf('get', path, request),
    upload: async (url, body) => {
      const response = await fetch(url, { method: 'PUT', body, signal }).catch(unlessAborted(signal))
      if (!response) throw new CommandError(`${new URL(url).origin} does not answer.`, exitCodes.unreachable)
      if (!response.ok) throw new CommandError(`The upload was refused: ${response.status} ${await response.text()}`)
      await response.body?.cancel()
    },
    cancel: async (jobId) => {
      const until = AbortSignal.timeout(cancelTimeoutMs)
      await ask('post', '/v1/train/jobs/:job_id/cancel', { params: { job_id: jobId } }, { until })
    },
  }

  /** The cast is safe because the compiler checks what each handler answers against the schema of its route. */
  function calls<M extends Method>(method: M): Call<M> {
    const call = async (path: string, request?: AnyRequest): Promise<unknown> =>
      (await ask(method, path, request)).json()
    return call as Call<M>
  }

  async function* textOf(method: Method, path: string, request?: AnyRequest): AsyncGenerator<string> {
    const response = await ask(method, path, request)
    try {
      yield* response.body?.pipeThrough(new TextDecoderStream()) ?? []
    } catch (error) {
      unlessAborted(signal)(error)
      throw new CommandError(`${apiUrl} ended its answer too early.`, exitCodes.unreachable)
    }
  }

  async function* follow(jobId: string, query: { from?: 'now' } = {}): AsyncGenerator<ServerSentEvent> {
    for (let more: Record<string, string> = {}; ;) {
      const request = { params: { job_id: jobId }, query }
      const { body } = await ask('get', '/v1/train/jobs/:job_id/stream', request, { more })
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
    method: Method,
    route: string,
    request: AnyRequest = {},
    { until = signal, more = {} }: AskOptions = {},
  ): Promise<Response> {
    const { body } = request
    const path = addressOf(route, request)
    const person = 'person' in shown ? shown.person : null
    let bearer = 'person' in shown ? await shown.person.token() : shown.apiKey
    const chosen = person?.account ? { 'X-Anneal-Account': person.account } : {}
    let wasRenewed = false
    let unanswered = 0
    for (const deadline = performance.now() + coldModelTimeoutMs; ;) {
      const response = await fetch(apiUrl + path, {
        method: methods[method],
        signal: until,
        headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json', ...chosen, ...more },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }).catch(unlessAborted(until))
      if (!response) {
        // Only a read may be asked twice: a write may have been done before its answer was lost.
        if (method !== 'get' || ++unanswered > maxUnanswered)
          throw new CommandError(`${apiUrl} does not answer.`, exitCodes.unreachable)
        await sleep(unansweredPauseMs, undefined, { signal: until })
        continue
      }
      if (response.ok) {
        const warning = response.headers.get('x-anneal-warning')
        if (warning !== null) onWarning(inWordsOfCommands(warning))
        return response
      }
      if (person && !wasRenewed && (await isOfToken(response))) {
        wasRenewed = true
        bearer = await person.token(bearer)
        continue
      }
      const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (Number.isNaN(retryAfterSeconds) || performance.now() > deadline)
        throw await refusal(methods[method], route, response)
      await response.body?.cancel()
      await sleep(Math.max(retryAfterSeconds, 1) * 1000, undefined, { signal: until })
    }
  }
}

/** The role of somebody may be too low as well, which no new token changes. */
const isOfToken = async (response: Response) =>
  response.status === 401 && /token of the identity provider/.test(await response.clone().text())

const emptyBody = () => new ReadableStream<Uint8Array>({ start: (controller) => controller.close() })

type AnyRequest = {
  params?: Record<string, string>
  query?: Record<string, string | undefined>
  body?: object
}

function addressOf(route: string, { params = {}, query = {} }: AnyRequest): string {
  const path = route.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

/** `more` are headers. */
type AskOptions = { until?: AbortSignal; more?: Record<string, string> }

function unlessAborted(signal: AbortSignal) {
  return (error: unknown) => {
    if (signal.aborted) throw error
    return null
  }
}

async function refusal(method: string, route: string, response: Response): Promise<CommandError> {
  // The second form is OpenAI's.
  const { detail, error } = (await response.json().catch(() => ({}))) as {
    detail?: string
    error?: { message: string }
  }
  const reason = detail ?? error?.message
  if (reason !== undefined) return new CommandError(inWordsOfCommands(reason))
  const asked = commandOf(method, route) ?? 'The request failed'
  return new CommandError(`${asked}: ${new URL(response.url).origin} answered ${response.status} and gave no reason.`)
}
