// One call against a ready server of a model. A server that dies is waited for, and the call is made again.
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../domain/service-error.ts'
import type { Adapter, createAdapterLoader } from './adapters.ts'
import type { Endpoints } from './endpoints.ts'
import { EngineLost, EngineRefusal, type Endpoint } from './engine-client.ts'

/** Which model answers: a base, or an adapter on it. */
export type Target = { baseModel: string; adapter: Adapter | null }

export type Servers = { endpoints: Endpoints; adapters: ReturnType<typeof createAdapterLoader> }

/** A call that ends servers time and again is given up, for everybody else's sake. */
const mostServersLost = 4
/** An adapter may be dropped for others between its loading and its use, while many are in demand. */
const mostReloads = 8
const mostEngineErrors = 2
const firstPauseMs = 250
const longestPauseMs = 2000

type Troubles = {
  serversLost: number
  reloads: number
  engineErrors: number
  awaySinceMs: number | null
  pauseMs: number
}

/**
 * @param call gets the model's name as the server knows it
 * @throws ServiceError unavailable; EngineRefusal that another try would meet again; the signal's reason
 */
export async function onServer<T>(
  servers: Servers,
  target: Target,
  signal: AbortSignal,
  call: (endpoint: Endpoint, model: string) => Promise<T>,
): Promise<T> {
  const { endpoints, adapters } = servers
  const troubles = { serversLost: 0, reloads: 0, engineErrors: 0, awaySinceMs: null, pauseMs: firstPauseMs }
  for (;;) {
    const endpoint = await endpoints.ready(target.baseModel, signal)
    try {
      if (target.adapter) await adapters.ensure(endpoint, target.adapter, signal)
      return await call(endpoint, target.adapter?.name ?? target.baseModel)
    } catch (error) {
      signal.throwIfAborted()
      await recover(servers, target, endpoint, error, troubles, signal)
    }
  }
}

/** Returns when the call may be made again; else throws. */
async function recover(
  { endpoints, adapters }: Servers,
  { adapter }: Target,
  endpoint: Endpoint,
  error: unknown,
  troubles: Troubles,
  signal: AbortSignal,
): Promise<void> {
  if (error instanceof EngineLost) {
    countLoss(endpoints, error, troubles)
    troubles.pauseMs = Math.min(troubles.pauseMs * 2, longestPauseMs)
    return endpoints.lost(endpoint, { pauseMs: troubles.pauseMs / 2, signal })
  }
  if (!(error instanceof EngineRefusal)) throw error
  if (error.status === 404 && adapter && ++troubles.reloads <= mostReloads)
    return adapters.forget(endpoint, adapter.name)
  // Another request in the same batch may have been the cause.
  if (error.status >= 500 && ++troubles.engineErrors <= mostEngineErrors) {
    await sleep(firstPauseMs, undefined, { signal })
    return
  }
  throw error
}

function countLoss(endpoints: Endpoints, error: EngineLost, troubles: Troubles) {
  if (error.wasReached) {
    troubles.awaySinceMs = null
    troubles.pauseMs = firstPauseMs
    if (++troubles.serversLost >= mostServersLost) throw unavailable(error)
  }
  troubles.awaySinceMs ??= Date.now()
  if (Date.now() - troubles.awaySinceMs > endpoints.coldStartTimeoutMs) throw unavailable(error)
}

const unavailable = (error: EngineLost) => new ServiceError('unavailable', error.message, { retryAfterSeconds: 10 })
