// Answers from models: finds or starts the server of a base model, and speaks to its engine.
//   complete         a prompt's way through the service, step by step; embedding  the same for texts
//   request, accept  one request, and what it gets once it is let in
//   endpoints        which replicas are ready; wakes a cold model
//   admission        how much work is accepted, of an account and of all
//   queue, token-counters   which call the engines get next, and how much they get at once
//   replicas         which replica takes a call
//   call-with-failover  one call, made again elsewhere when its replica dies
//   progress-timeout how long a request may go without an answer
//   adapters         tuned models, loaded on demand
//   retrieval        stored rows before prompts, as many as fit
//   preview-rows     rows of data as a training would learn them
//   meter, metrics   counts of a request's work, and the numbers for Prometheus
//   typed-output, text-bounds                   typed answers as a bounded grammar
//   sampled-grammar  the form of answers that a training samples
//   schema-threads, schema-operations           work on JSON schemas, beside the event loop where it is large
import type { Replica, ServedModel } from '../repositories/model-servers.ts'
import type { Servers } from './accept.ts'
import { createAdapterLoader } from './adapters.ts'
import { complete } from './complete.ts'
import { embed, type EmbeddingRequest } from './embedding.ts'
import { createEndpoints, type EndpointDependencies } from './endpoints.ts'
import { deleteAdapter, listModels } from './engine-client.ts'
import { createInferenceMetrics } from './metrics.ts'
import { previewRows, type RowPreviewRequest } from './preview-rows.ts'
import { createQueue } from './queue.ts'
import { createReplicas } from './replicas.ts'
import type { CompletionRequest } from './request.ts'
import { sample, type SampleRequest } from './sample.ts'
import { sampledGrammar } from './sampled-grammar.ts'
import { createSchemaThreads } from './schema-threads.ts'

export type Inference = ReturnType<typeof createInference>

export type InferenceDependencies = EndpointDependencies & {
  /** A request whose engine gives no answer ends after this time, plus the time that a model's start may take. */
  answerTimeoutMs: number
}

const adaptersTimeoutMs = 2000

export function createInference(dependencies: InferenceDependencies) {
  const { serverToken, coldStartTimeoutMs, answerTimeoutMs, log } = dependencies
  const replicas = createReplicas()
  const queue = createQueue()
  const metrics = createInferenceMetrics(() => queue.measure())
  const schemas = createSchemaThreads()
  const servers: Servers = {
    endpoints: createEndpoints(dependencies, replicas),
    replicas,
    adapters: createAdapterLoader(metrics.countAdapter),
    schemas,
    queue,
    metrics,
    answeredAtMs: new Map(),
    timeoutMs: coldStartTimeoutMs + answerTimeoutMs,
    log,
  }

  const endpointOf = ({ baseModel, generation }: ServedModel, { instance, url }: Replica) => ({
    ...{ baseModel, generation, instance, url, token: serverToken(baseModel, generation) },
  })

  return {
    metrics: metrics.all,

    complete: (request: CompletionRequest) => complete(servers, request),

    embed: (request: EmbeddingRequest) => embed(servers, request),

    /** Shows rows of data as a training would learn them. */
    previewRows: (request: RowPreviewRequest) => previewRows(servers, request),

    /** Has answers drawn that a training learns from. */
    sample: (request: SampleRequest) => sample(servers, request),

    /** Reads large schemas. @throws ServiceError invalid_input with the path of what is refused */
    readSchemas: (...asked: Parameters<typeof schemas.read>) => schemas.read(...asked),

    /** @returns null when the tokens leave no room. @throws ServiceError invalid_input naming the schema */
    sampledGrammar: (asked: Parameters<typeof sampledGrammar>[1]) => sampledGrammar(schemas, asked),

    /** @returns the names of the adapters that the replica holds; null when it does not answer in time */
    async adaptersOf(server: ServedModel, replica: Replica): Promise<string[] | null> {
      const { baseModel } = server
      try {
        const names = await listModels(endpointOf(server, replica), AbortSignal.timeout(adaptersTimeoutMs))
        return names.filter((name) => name !== baseModel)
      } catch (error) {
        log.warn({ err: error, baseModel, instance: replica.instance }, 'failed to list the adapters of a model server')
        return null
      }
    },

    /** Takes the adapter from all replicas of the model. @throws where one does not confirm it in time */
    async unloadAdapter(baseModel: string, name: string): Promise<void> {
      const server = await dependencies.modelServers.findServed(baseModel)
      const endpoints = server?.state === 'ready' ? server.replicas.map((replica) => endpointOf(server, replica)) : []
      for (const endpoint of endpoints) servers.adapters.forget(endpoint, name)
      await Promise.all(
        endpoints.map((endpoint) => deleteAdapter(endpoint, name, AbortSignal.timeout(adaptersTimeoutMs))),
      )
    },
  }
}
