// Makes one call on a ready replica of a model. When the replica dies, the call is made again on another, or waits for a new one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogueEntry } from '../domain/catalogue.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Adapter, createAdapterLoader } from './adapters.ts'
import type { Endpoints } from './endpoints.ts'
import { EngineLost, EngineRefusal, type Endpoint, type Usage } from './engine-client.ts'
import type { Meter } from './meter.ts'
import type { Turns } from './queue.ts'
import type { ReadyReplica, Replicas } from './replicas.ts'
import type { SchemaThreads } from './schema-threads.ts'

/** The model that answers (a base, or an adapter on it), the account that asks, and the meter that counts the work. */
export type Target = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  accountId: string
  meter?: Meter | undefined
}

export type Servers = {
  endpoints: Endpoints
  replicas: Replicas
  /** The request's place in the queue. */
  turns: Turns
  adapters: ReturnType<typeof createAdapterLoader>
  schemas: SchemaThreads
}

/** A call that ends one server after another is given up: it would stop the model for everybody. */
const maxServersLost = 4
/** When many adapters are in demand, a server may drop one between its loading and its use. */
const maxReloads = 8
const maxEngineErrors = 2
const firstPauseMs = 250
const longestPauseMs = 2000
/**
 * Engine batches that a replica holds: enough that it never waits for us. The rest waits here. vLLM works first come, first
 * served, so a single prompt waits for all that it holds; our engines take turns between accounts themselves.
 */
const batchesAtHand = { vllm: 3, transformers: 8, 'llama.cpp': 8, embedder: 8 } satisfies Record<
  CatalogueEntry['engine'],
  number
>
/** An adapter's replica may have this much more work than the others before they load the adapter, too. */
const batchesOfSlack = 2

type Troubles = {
  serversLost: number
  reloads: number
  engineErrors: number
  awaySinceMs: number | null
  pauseMs: number
}

/** A call's share of the work, in prompts or texts, and its tokens as far as they can be told before. */
export type Work = { rows: number; tokens: number }

type Call<T> = (endpoint: Endpoint, model: string, signal: AbortSignal) => Promise<T>

/**
 * @param call receives the model's name as the server knows it
 * @throws ServiceError unavailable; EngineRefusal that another try would meet again; the signal's reason
 */
export async function onServer<T extends { usage: Usage }>(
  servers: Servers,
  target: Target,
  work: Work,
  signal: AbortSignal,
  call: Call<T>,
): Promise<T> {
  const { name: baseModel, maxBatch, engine } = target.baseModel
  // Wait for a cold model before taking a turn, so that no caller waits for both.
  const { length: count } = await servers.endpoints.ready(baseModel, signal)
  const maxRows = count * batchesAtHand[engine] * Math.max(maxBatch, 16)
  return servers.turns.inTurn({ ...work, maxRows }, signal, () =>
    untilAnswered(servers, target, work.rows, signal, call),
  )
}

async function untilAnswered<T>(
  servers: Servers,
  target: Target,
  rows: number,
  signal: AbortSignal,
  call: Call<T>,
): Promise<T> {
  const { baseModel, adapter, accountId, meter } = target
  const share = { rows, signal, onSeconds: meter?.countEngineSeconds }
  const troubles = { serversLost: 0, reloads: 0, engineErrors: 0, awaySinceMs: null, pauseMs: firstPauseMs }
  for (;;) {
    const ready = await servers.endpoints.ready(baseModel.name, signal)
    const replica = servers.replicas.choose(ready, adapter?.name ?? null, batchesOfSlack * baseModel.maxBatch)
    try {
      return await servers.replicas.use(replica, share, async (whileUsable) => {
        const endpoint = { ...replica, accountId }
        if (adapter) await servers.adapters.ensure(endpoint, adapter, whileUsable)
        return call(endpoint, adapter?.name ?? baseModel.name, whileUsable)
      })
    } catch (error) {
      signal.throwIfAborted()
      await recover(servers, target, { replica, ready, error, troubles, signal })
    }
  }
}

type Trouble = {
  replica: ReadyReplica
  ready: readonly ReadyReplica[]
  error: unknown
  troubles: Troubles
  signal: AbortSignal
}

/** Returns when the call may be made again; throws otherwise. */
async function recover(
  { endpoints, replicas, adapters }: Servers,
  { adapter }: Target,
  { replica, ready, error, troubles, signal }: Trouble,
): Promise<void> {
  if (error instanceof EngineLost) {
    const hasAnother = replicas.lose(replica, ready)
    countLoss(endpoints, error, troubles)
    if (hasAnother) return endpoints.lost(replica.baseModel, { pauseMs: 0, signal })
    troubles.pauseMs = Math.min(troubles.pauseMs * 2, longestPauseMs)
    return endpoints.lost(replica.baseModel, { pauseMs: troubles.pauseMs / 2, signal })
  }
  if (!(error instanceof EngineRefusal)) throw error
  if (error.status === 404 && adapter && ++troubles.reloads <= maxReloads) return adapters.forget(replica, adapter.name)
  // Another request in the same batch may have been the cause.
  if (error.status >= 500 && ++troubles.engineErrors <= maxEngineErrors) {
    await sleep(firstPauseMs, undefined, { signal })
    return
  }
  throw error
}

function countLoss(endpoints: Endpoints, error: EngineLost, troubles: Troubles) {
  if (error.wasReached) {
    troubles.awaySinceMs = null
    troubles.pauseMs = firstPauseMs
    if (++troubles.serversLost >= maxServersLost) throw unavailable(error)
  }
  troubles.awaySinceMs ??= performance.now()
  if (performance.now() - troubles.awaySinceMs > endpoints.coldStartTimeoutMs) throw unavailable(error)
}

const unavailable = (error: EngineLost) => new ServiceError('unavailable', error.message, { retryAfterSeconds: 10 })
