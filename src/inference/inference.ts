// Answers from models: finds or starts the server of a base model, and speaks to its engine.
//   endpoints        which replicas are ready; wakes a cold model
//   queue            how much is accepted, and how much of it is with the engines at once
//   replicas         which replica takes a call
//   on-server        one call, made again elsewhere when a replica dies under it
//   adapters         tuned models, loaded on demand
//   completion, typed-completion, embedding     the verbs; generation and chunks below them
//   retrieval        stored rows before prompts, as many as fit
//   meter, metrics    who counts the work of a request, and what Prometheus hears
//   typed-output, text-bounds                   typed answers as a bounded grammar
import { createAdapterLoader } from './adapters.ts'
import { complete, type CompletionInput } from './completion.ts'
import { embed, type EmbeddingInput } from './embedding.ts'
import { createEndpoints, type EndpointDependencies } from './endpoints.ts'
import { assertWellFormed } from './input-errors.ts'
import { withRows, type RetrievedRows } from './retrieval.ts'
import type { Meter } from './meter.ts'
import { createInferenceMetrics } from './metrics.ts'
import { createQueue } from './queue.ts'
import { createReplicas } from './replicas.ts'
import type { Completions } from './typed-completion.ts'

export type Inference = ReturnType<typeof createInference>

export function createInference(dependencies: EndpointDependencies) {
  const replicas = createReplicas()
  const endpoints = createEndpoints(dependencies, replicas)
  const queue = createQueue()
  const metrics = createInferenceMetrics(() => queue.measure())
  const servers = { endpoints, replicas, queue, adapters: createAdapterLoader(metrics.countAdapter) }
  const accept = <T>(baseModel: string, prompts: number, work: () => Promise<T>) =>
    queue.accept(baseModel, prompts, () => endpoints.whileUsing(baseModel, work))

  /** The process counts, too, whoever else does. */
  function metered({ baseModel, meter }: Pick<EmbeddingInput, 'baseModel' | 'meter'>): Meter {
    return {
      countTokens(tokens) {
        metrics.countTokens(baseModel.name, tokens)
        meter?.countTokens(tokens)
      },
      countEngineSeconds: (seconds) => meter?.countEngineSeconds(seconds),
    }
  }

  /** The first of its texts is timed. */
  function timed({ baseModel, onText }: Pick<CompletionInput, 'baseModel' | 'onText'>) {
    const acceptedAt = performance.now()
    let isBegun = false
    return (
      onText &&
      ((piece: string) => {
        if (!isBegun) metrics.observeFirstToken(baseModel.name, (performance.now() - acceptedAt) / 1000)
        isBegun = true
        onText(piece)
      })
    )
  }

  return {
    metrics: metrics.all,

    /** @throws ServiceError invalid_input naming a prompt by its position, unavailable; the signal's reason */
    async complete({ rows, ...input }: CompletionInput & RetrievedRows): Promise<Completions> {
      assertWellFormed(input.prompts)
      if (input.prompts.length === 0) return { outputs: [], finishReasons: [] }
      const asked = { ...input, meter: metered(input), onText: timed(input) }
      return accept(input.baseModel.name, input.prompts.length, async () =>
        complete(servers, rows ? await withRows(servers, asked, rows) : asked),
      )
    },

    /** @throws as complete */
    async embed(input: EmbeddingInput): Promise<number[][]> {
      assertWellFormed(input.texts)
      if (input.texts.length === 0) return []
      return accept(input.baseModel.name, input.texts.length, () => embed(servers, { ...input, meter: metered(input) }))
    },
  }
}
