// The informers behind a cache: one for each collection, and whether together they are current.
import { runInformer } from './informer.ts'
import type { InformerOptions } from './informer.ts'
import type { Collection, KubernetesApi } from '../api/kubernetes-api.ts'

export type InformedCollection = {
  collection: Collection
  /** True if the cache counts as current only while this informer is. */
  isNeeded: boolean
  onObject: InformerOptions['onObject']
  onGone: InformerOptions['onGone']
}

export type Informers = ReturnType<typeof createInformers>

/** Some states change with time alone: a place in the queue, a missing image, a node that does not answer. */
const recheckIntervalMs = 5_000

/** @param onAll is called when the state of every run may have changed */
export function createInformers(api: KubernetesApi, followed: readonly InformedCollection[], onAll: () => void) {
  const stopping = new AbortController()
  const unread = new Set(followed.filter(({ isNeeded }) => isNeeded))
  const troubles = new Map<InformedCollection, string>()
  let hasStarted = false

  function follow(each: InformedCollection): void {
    function onTrouble(message: string | null): void {
      if (!each.isNeeded || (message === (troubles.get(each) ?? null) && !unread.has(each))) return
      if (message === null) {
        troubles.delete(each)
        unread.delete(each)
      } else troubles.set(each, message)
      onAll()
    }
    const { collection, onObject, onGone } = each
    void runInformer({ api, collection, onObject, onGone, onTrouble, signal: stopping.signal })
  }

  return {
    /** Starts with the first use. */
    start(): void {
      if (hasStarted) return
      hasStarted = true
      followed.forEach(follow)
      const timer = setInterval(onAll, recheckIntervalMs).unref()
      stopping.signal.addEventListener('abort', () => clearInterval(timer))
    },
    /** Every needed collection was read, and no informer reports trouble. */
    isCurrent: (): boolean => troubles.size === 0 && unread.size === 0,
    /** The first lists are under way. */
    isLoading: (): boolean => troubles.size === 0 && unread.size > 0,
    /** Why the cache may be out of date. */
    trouble: (): string | null => troubles.values().next().value ?? null,
    stop: (): void => stopping.abort(),
  }
}
