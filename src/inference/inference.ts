// Answers from models: finds or starts the server of a base model, and speaks to its engine.
//   endpoints        which replicas are ready; wakes a cold model
//   admission        how much work is accepted, of an account and of all
//   queue, turns     which call the engines get next, and how much they get at once
//   replicas         which replica takes a call
//   call-with-failover  one call, made again elsewhere when its replica dies
//   progress-timeout how long a request may go without an answer
//   adapters         tuned models, loaded on demand
//   completion, typed-completion, embedding     the verbs; generation and chunks below them
//   retrieval        stored rows before prompts, as many as fit
//   meter, metrics   counts of a request's work, and the numbers for Prometheus
//   typed-output, text-bounds                   typed answers as a bounded grammar
//   schema-threads, schema-operations           work on JSON schemas, beside the event loop where it is large
import { ServiceError } from '../domain/service-error.ts'
import { createAdapterLoader } from './adapters.ts'
import { complete, requireShort, type CompletionInput } from './completion.ts'
import { whileAnswered } from './progress-timeout.ts'
import { embed, type EmbeddingInput } from './embedding.ts'
import { listModels } from './engine-client.ts'
import type { Replica, ServedModel } from '../repositories/model-servers.ts'
import { createEndpoints, type EndpointDependencies } from './endpoints.ts'
import { assertWellFormed } from './input-errors.ts'
import { withRows, type RetrievedRows, type UsedRows } from './retrieval.ts'
import type { Meter } from './meter.ts'
import { createInferenceMetrics } from './metrics.ts'
import type { Servers } from './call-with-failover.ts'
import { createQueue } from './queue.ts'
import { createReplicas } from './replicas.ts'
import { createSchemaThreads } from './schema-threads.ts'
import type { Completions } from './typed-completion.ts'

export type Inference = ReturnType<typeof createInference>

export type InferenceDependencies = EndpointDependencies & {
  /** A request whose engine gives no answer ends after this time, plus the time that a model's start may take. */
  answerTimeoutMs: number
}

type Asked = Pick<EmbeddingInput, 'baseModel' | 'accountId' | 'signal' | 'meter'>

const retryAfterSilenceSeconds = 10
const adaptersTimeoutMs = 2000

export function createInference(dependencies: InferenceDependencies) {
  const timeoutMs = dependencies.coldStartTimeoutMs + dependencies.answerTimeoutMs
  const replicas = createReplicas()
  const endpoints = createEndpoints(dependencies, replicas)
  const queue = createQueue()
  const answeredAtMs = new Map<string, number>()
  const metrics = createInferenceMetrics(() => queue.measure())
  const schemas = createSchemaThreads()
  const shared = { endpoints, replicas, adapters: createAdapterLoader(metrics.countAdapter), schemas }

  /** Runs a request within the limits of its account, for as long as its engines answer. */
  function accept<T>(
    { baseModel: { name }, accountId, signal }: Asked,
    prompts: number,
    work: (servers: Servers, signal: AbortSignal, onAnswer: () => void) => Promise<T>,
  ): Promise<T> {
    const late = () => {
      dependencies.log.warn({ baseModel: name }, 'the engine gave no output in time')
      return unanswered(name, timeoutMs)
    }
    return queue.accept({ baseModel: name, accountId, prompts }, (turns) => {
      const isWaiting = () =>
        !turns.isRunning() && performance.now() - (answeredAtMs.get(name) ?? -Infinity) < timeoutMs
      return endpoints.whileUsing(name, () =>
        whileAnswered(signal, { timeoutMs, late, isWaiting }, (own, onAnswer) => {
          const onModelAnswer = () => {
            answeredAtMs.set(name, performance.now())
            onAnswer()
          }
          return work({ ...shared, turns }, own, onModelAnswer)
        }),
      )
    })
  }

  /** The process's own metrics count every request, besides the caller's meter. */
  function metered({ baseModel, meter }: Asked, onAnswer: () => void): Meter {
    return {
      countTokens(tokens) {
        metrics.countTokens(baseModel.name, tokens)
        meter?.countTokens(tokens)
      },
      countEngineSeconds(seconds) {
        onAnswer()
        meter?.countEngineSeconds(seconds)
      },
    }
  }

  /** Measures the time to the first text. */
  function timed({ baseModel, onText }: Pick<CompletionInput, 'baseModel' | 'onText'>, onAnswer: () => void) {
    const acceptedAt = performance.now()
    let isBegun = false
    return (
      onText &&
      ((piece: string, logprobs?: unknown) => {
        if (!isBegun) metrics.observeFirstToken(baseModel.name, (performance.now() - acceptedAt) / 1000)
        isBegun = true
        onAnswer()
        onText(piece, logprobs)
      })
    )
  }

  return {
    metrics: metrics.all,

    /** Reads large schemas. @throws ServiceError invalid_input with the path of what is refused */
    readSchemas: (...asked: Parameters<typeof schemas.read>) => schemas.read(...asked),

    /** @returns the names of the adapters that the replica holds; null when it does not answer in time */
    async adaptersOf({ baseModel, generation }: ServedModel, { instance, url }: Replica): Promise<string[] | null> {
      const token = dependencies.serverToken(baseModel, generation)
      const endpoint = { baseModel, generation, instance, url, token }
      try {
        const names = await listModels(endpoint, AbortSignal.timeout(adaptersTimeoutMs))
        return names.filter((name) => name !== baseModel)
      } catch (error) {
        dependencies.log.warn({ err: error, baseModel, instance }, 'failed to list the adapters of a model server')
        return null
      }
    },

    /** @throws ServiceError invalid_input naming a prompt by its position, quota_exceeded, unavailable; the signal's reason */
    async complete({ rows, ...input }: CompletionInput & RetrievedRows): Promise<Completions & UsedRows> {
      // First: a conversation of 64 MB becomes one text only when its characters are looked at.
      requireShort(input)
      assertWellFormed(input.prompts)
      if (input.prompts.length === 0) return { outputs: [], finishReasons: [] }
      return accept(input, input.prompts.length, async (servers, signal, onAnswer) => {
        const asked = { ...input, signal, meter: metered(input, onAnswer), onText: timed(input, onAnswer) }
        if (!rows) return complete(servers, asked)
        const { usedRows, ...laidOut } = await withRows(servers, asked, rows)
        return { ...(await complete(servers, laidOut)), usedRows }
      })
    },

    /** @throws as complete */
    async embed(input: EmbeddingInput): Promise<number[][]> {
      assertWellFormed(input.texts)
      if (input.texts.length === 0) return []
      return accept(input, input.texts.length, (servers, signal, onAnswer) =>
        embed(servers, { ...input, signal, meter: metered(input, onAnswer) }),
      )
    },
  }
}

const unanswered = (baseModel: string, timeoutMs: number) =>
  new ServiceError(
    'unavailable',
    `The model ${baseModel} gave no output for ${timeoutMs / 1000} seconds, so this request was ended. Send the request again. If its answers are long, lower max_tokens.`,
    { retryAfterSeconds: retryAfterSilenceSeconds },
  )
