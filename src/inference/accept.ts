// Lets a request in: within the limits of its account, and for as long as its engines answer.
import { ServiceError } from '../domain/service-error.ts'
import type { Log } from '../log.ts'
import type { createAdapterLoader } from './adapters.ts'
import type { Endpoints } from './endpoints.ts'
import type { InferenceMetrics } from './metrics.ts'
import { startProgressTimeout } from './progress-timeout.ts'
import type { Queue, Turns } from './queue.ts'
import type { Replicas } from './replicas.ts'
import type { Choice, CompletionRequest, ModelRequest, OnText, RowGroup } from './request.ts'
import type { SchemaThreads } from './schema-threads.ts'

/** All requests of a process share these. */
export type Servers = {
  endpoints: Endpoints
  replicas: Replicas
  adapters: ReturnType<typeof createAdapterLoader>
  schemas: SchemaThreads
  queue: Queue
  metrics: InferenceMetrics
  /** When an engine of each base model last answered a request of this process. */
  answeredAtMs: Map<string, number>
  /** A request ends when its engines gave no answer for this time. */
  timeoutMs: number
  log: Log
}

/** A request that was let in. Its signal also aborts when its engines fall silent. */
export type Accepted<R extends ModelRequest = ModelRequest> = R & { servers: Servers; turns: Turns }

/** Asks the engines for the rows of the groups. @returns the answers, each at the position of its prompt */
export type Generate = (
  request: Accepted<CompletionRequest<unknown>>,
  groups: readonly RowGroup[],
  seed: number | null,
) => Promise<Choice[]>

const retryAfterSilenceSeconds = 10

/** The request is under way until it is disposed of. @throws ServiceError quota_exceeded, unavailable */
export function accept<R extends ModelRequest & { onText?: OnText | undefined }>(
  servers: Servers,
  request: R,
  prompts: number,
): Accepted<R> & Disposable {
  const { queue, endpoints, metrics, answeredAtMs, timeoutMs } = servers
  const { name } = request.baseModel
  using held = new DisposableStack()
  const turns = held.use(queue.accept({ baseModel: name, accountId: request.accountId, prompts }))
  held.use(endpoints.use(name))
  const isWaiting = () => !turns.isRunning() && performance.now() - (answeredAtMs.get(name) ?? -Infinity) < timeoutMs
  const time = held.use(
    startProgressTimeout(request.signal, { timeoutMs, isWaiting, late: () => unanswered(servers, name) }),
  )
  const onAnswer = () => {
    answeredAtMs.set(name, performance.now())
    time.onAnswer()
  }
  const all = held.move()
  return {
    ...request,
    servers,
    turns,
    signal: time.signal,
    // The process's own metrics count every request, besides the caller's meter.
    meter: {
      countTokens(tokens) {
        metrics.countTokens(name, tokens)
        request.meter?.countTokens(tokens)
      },
      countEngineSeconds(seconds) {
        onAnswer()
        request.meter?.countEngineSeconds(seconds)
      },
    },
    onText: request.onText && timed(servers, name, request.onText, onAnswer),
    [Symbol.dispose]: () => all.dispose(),
  }
}

/** Measures the time to the first text. */
function timed({ metrics }: Servers, baseModel: string, onText: OnText, onAnswer: () => void): OnText {
  const acceptedAt = performance.now()
  let isBegun = false
  return (piece, logprobs) => {
    if (!isBegun) metrics.observeFirstToken(baseModel, (performance.now() - acceptedAt) / 1000)
    isBegun = true
    onAnswer()
    onText(piece, logprobs)
  }
}

function unanswered({ log, timeoutMs }: Servers, baseModel: string) {
  log.warn({ baseModel }, 'the engine gave no output in time')
  return new ServiceError(
    'unavailable',
    `The model ${baseModel} gave no output for ${timeoutMs / 1000} seconds, so this request was ended. Send the request again. If its answers are long, lower max_tokens.`,
    { retryAfterSeconds: retryAfterSilenceSeconds },
  )
}
