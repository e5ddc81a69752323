// A tuned model is an adapter, which a server of its base model loads on demand. Each replica is asked once per adapter.
import { ServiceError } from '../domain/service-error.ts'
import { abortable } from './abortable.ts'
import { EngineLost, EngineRefusal, putAdapter, type Endpoint } from './engine-client.ts'
import type { Adapter } from './request.ts'

const maxRemembered = 2000
/** Time for the server to fetch the adapter, check it and try it. */
const usualLoadTimeoutMs = 300_000

/** @param onUse called with each use of an adapter: whether this process had asked for it before */
export function createAdapterLoader(
  onUse: (baseModel: string, isLoaded: boolean) => void = () => undefined,
  loadTimeoutMs = usualLoadTimeoutMs,
) {
  const loads = new Map<string, Promise<void>>()
  const keyOf = (endpoint: Endpoint, name: string) => `${endpoint.url} ${endpoint.generation} ${name}`

  return {
    /** Resolves once the server has loaded the adapter. The server may drop the adapter later without a word. */
    async ensure(endpoint: Endpoint, adapter: Adapter, signal: AbortSignal): Promise<void> {
      const key = keyOf(endpoint, adapter.name)
      let load = loads.get(key)
      onUse(endpoint.baseModel, load !== undefined)
      if (!load) {
        load = loadAdapter(endpoint, adapter, loadTimeoutMs)
        loads.set(key, load)
        load.catch(() => loads.delete(key))
        const oldest = loads.keys().next().value
        if (loads.size > maxRemembered && oldest !== undefined) loads.delete(oldest)
      }
      await abortable(load, signal)
    },

    /** Call when the server says that it does not have the adapter: the next use loads it again. */
    forget(endpoint: Endpoint, name: string) {
      loads.delete(keyOf(endpoint, name))
    },
  }
}

async function loadAdapter(endpoint: Endpoint, adapter: Adapter, timeoutMs: number): Promise<void> {
  // All waiting callers share this load, so no single caller's abort may end it.
  const late = AbortSignal.timeout(timeoutMs)
  try {
    await putAdapter(endpoint, adapter.name, await adapter.files(), late)
  } catch (error) {
    if (late.aborted) throw new EngineLost(`The model server did not load ${adapter.name} in time.`, true)
    if (!(error instanceof EngineRefusal) || error.status !== 422) throw error
    throw new ServiceError('unavailable', `The model ${adapter.name} could not be loaded: ${error.message}`, {
      retryAfterSeconds: 60,
    })
  }
}
