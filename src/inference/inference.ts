// Answers from models: finds or starts the server of a base model, and speaks to its engine.
//   endpoints        which replicas are ready; wakes a cold model
//   queue            how much is accepted, and how much of it is with the engines at once
//   replicas         which replica takes a call
//   on-server        one call, made again elsewhere when a replica dies under it
//   adapters         tuned models, loaded on demand
//   completion, typed-completion, embedding     the verbs; generation and chunks below them
//   retrieval        stored rows before prompts, as many as fit
//   typed-output, text-bounds                   typed answers as a bounded grammar
import { createAdapterLoader } from './adapters.ts'
import { complete, type CompletionInput } from './completion.ts'
import { embed, type EmbeddingInput } from './embedding.ts'
import { createEndpoints, type EndpointDependencies } from './endpoints.ts'
import { assertWellFormed } from './input-errors.ts'
import { withRows, type RetrievedRows } from './retrieval.ts'
import { createQueue } from './queue.ts'
import { createReplicas } from './replicas.ts'
import type { Completions } from './typed-completion.ts'

export type Inference = ReturnType<typeof createInference>

export function createInference(dependencies: EndpointDependencies) {
  const replicas = createReplicas()
  const endpoints = createEndpoints(dependencies, replicas)
  const queue = createQueue()
  const servers = { endpoints, replicas, queue, adapters: createAdapterLoader() }
  const accept = <T>(baseModel: string, prompts: number, work: () => Promise<T>) =>
    queue.accept(baseModel, prompts, () => endpoints.whileUsing(baseModel, work))
  return {
    /** @throws ServiceError invalid_input naming a prompt by its position, unavailable; the signal's reason */
    async complete({ rows, ...input }: CompletionInput & RetrievedRows): Promise<Completions> {
      assertWellFormed(input.prompts)
      if (input.prompts.length === 0) return { outputs: [], finishReasons: [] }
      return accept(input.baseModel.name, input.prompts.length, async () =>
        complete(servers, rows ? await withRows(servers, input, rows) : input),
      )
    },

    /** @throws as complete */
    async embed(input: EmbeddingInput): Promise<number[][]> {
      assertWellFormed(input.texts)
      if (input.texts.length === 0) return []
      return accept(input.baseModel.name, input.texts.length, () => embed(servers, input))
    },
  }
}
