// Makes one call on a ready replica of a model. When the replica dies, the call is made again on another, or waits for a new one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CatalogueEntry } from '../domain/catalogue.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Accepted, Servers } from './accept.ts'
import type { Endpoints } from './endpoints.ts'
import { EngineLost, EngineRefusal, type EngineCall } from './engine-client.ts'
import type { Usage } from './meter.ts'
import type { ReadyReplica } from './replicas.ts'

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

/**
 * @param signal of this call, which may end before its request
 * @throws ServiceError unavailable; EngineRefusal that another try would meet again; the signal's reason
 */
export async function callWithFailover<T extends { usage: Usage }>(
  { servers, baseModel, adapter, accountId, meter, turns }: Accepted,
  { rows, tokens }: Work,
  signal: AbortSignal,
  call: EngineCall<T>,
): Promise<T> {
  const { endpoints, replicas, adapters } = servers
  // Wait for a cold model before taking a turn, so that no caller waits for both.
  const { length: replicaCount } = await endpoints.ready(baseModel.name, signal)
  const maxRows = replicaCount * batchesAtHand[baseModel.engine] * Math.max(baseModel.maxBatch, 16)
  using turn = await turns.take({ rows, tokens, maxRows }, signal)
  const troubles = { serversLost: 0, reloads: 0, engineErrors: 0, awaySinceMs: null, pauseMs: firstPauseMs }
  for (;;) {
    const ready = await endpoints.ready(baseModel.name, signal)
    const replica = replicas.choose(ready, adapter?.name ?? null, batchesOfSlack * baseModel.maxBatch)
    try {
      using use = replicas.use(replica, { rows, signal, onSeconds: meter?.countEngineSeconds })
      const endpoint = { ...replica, accountId }
      if (adapter) await adapters.ensure(endpoint, adapter, use.signal)
      const answer = await call(endpoint, adapter?.name ?? baseModel.name, use.signal)
      turn.count(answer.usage)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      await recover(servers, { replica, ready, error, troubles, signal, adapterName: adapter?.name ?? null })
    }
  }
}

type Trouble = {
  replica: ReadyReplica
  ready: readonly ReadyReplica[]
  error: unknown
  troubles: Troubles
  signal: AbortSignal
  adapterName: string | null
}

/** Returns when the call may be made again; throws otherwise. */
async function recover(
  { endpoints, replicas, adapters }: Servers,
  { replica, ready, error, troubles, signal, adapterName }: Trouble,
): Promise<void> {
  if (error instanceof EngineLost) {
    const hasAnother = replicas.lose(replica, ready)
    countLoss(endpoints, error, troubles)
    if (hasAnother) return endpoints.lost(replica.baseModel, { pauseMs: 0, signal })
    troubles.pauseMs = Math.min(troubles.pauseMs * 2, longestPauseMs)
    return endpoints.lost(replica.baseModel, { pauseMs: troubles.pauseMs / 2, signal })
  }
  if (!(error instanceof EngineRefusal)) throw error
  if (error.status === 404 && adapterName && ++troubles.reloads <= maxReloads)
    return adapters.forget(replica, adapterName)
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
