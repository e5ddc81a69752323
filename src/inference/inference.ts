// Answers from models: finds or starts the server of a base model, and speaks to its engine.
//   endpoints        which server is ready; wakes a cold one
//   on-server        one call, made again when a server dies under it
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
import type { Completions } from './typed-completion.ts'

export type Inference = ReturnType<typeof createInference>

export function createInference(dependencies: EndpointDependencies) {
  const endpoints = createEndpoints(dependencies)
  const servers = { endpoints, adapters: createAdapterLoader() }
  return {
    /** @throws ServiceError invalid_input naming a prompt by its position, unavailable; the signal's reason */
    async complete({ rows, ...input }: CompletionInput & RetrievedRows): Promise<Completions> {
      assertWellFormed(input.prompts)
      if (input.prompts.length === 0) return { outputs: [], finishReasons: [] }
      return endpoints.whileUsing(input.baseModel.name, async () =>
        complete(servers, rows ? await withRows(servers, input, rows) : input),
      )
    },

    /** @throws as complete */
    async embed(input: EmbeddingInput): Promise<number[][]> {
      assertWellFormed(input.texts)
      if (input.texts.length === 0) return []
      return endpoints.whileUsing(input.baseModel.name, () => embed(servers, input))
    },
  }
}
