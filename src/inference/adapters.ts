// Tuned models are adapters that a server of their base loads on demand: asked for once per replica and adapter.
import { ServiceError } from '../domain/service-error.ts'
import { abortable } from './abortable.ts'
import { EngineLost, EngineRefusal, putAdapter, type AdapterFile, type Endpoint } from './engine-client.ts'

/** `name` is never used for other bytes; `files` makes fresh URLs each time. */
export type Adapter = { name: string; files: () => Promise<AdapterFile[]> }

const mostRemembered = 2000
/** For the server to fetch, check and try it. */
const usualLoadTimeoutMs = 300_000

/** @param onUse told of each call's adapter whether it was asked for before */
export function createAdapterLoader(
  onUse: (baseModel: string, isLoaded: boolean) => void = () => undefined,
  loadTimeoutMs = usualLoadTimeoutMs,
) {
  const loads = new Map<string, Promise<void>>()
  const keyOf = (endpoint: Endpoint, name: string) => `${endpoint.url} ${endpoint.generation} ${name}`

  return {
    /** Resolves once the server has the adapter, as far as is known here: it may have dropped it since. */
    async ensure(endpoint: Endpoint, adapter: Adapter, signal: AbortSignal): Promise<void> {
      const key = keyOf(endpoint, adapter.name)
      let load = loads.get(key)
      onUse(endpoint.baseModel, load !== undefined)
      if (!load) {
        load = loadAdapter(endpoint, adapter, loadTimeoutMs)
        loads.set(key, load)
        load.catch(() => loads.delete(key))
        const oldest = loads.keys().next().value
        if (loads.size > mostRemembered && oldest !== undefined) loads.delete(oldest)
      }
      await abortable(load, signal)
    },

    /** The server says that it does not have it (any more). */
    forget(endpoint: Endpoint, name: string) {
      loads.delete(keyOf(endpoint, name))
    },
  }
}

async function loadAdapter(endpoint: Endpoint, adapter: Adapter, timeoutMs: number): Promise<void> {
  // Shared by all who wait, so nobody's abort ends it.
  const late = AbortSignal.timeout(timeoutMs)
  try {
    await putAdapter(endpoint, adapter.name, await adapter.files(), late)
  } catch (error) {
    if (late.aborted) throw new EngineLost(`A model server does not come round to loading ${adapter.name}.`, true)
    if (!(error instanceof EngineRefusal) || error.status !== 422) throw error
    throw new ServiceError('unavailable', `The model ${adapter.name} could not be loaded: ${error.message}`, {
      retryAfterSeconds: 60,
    })
  }
}
