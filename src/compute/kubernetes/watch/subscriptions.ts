import type { ObservedPod } from '../pods/observed-pod.ts'

export type RunListener = { onChange: () => void; onPod?: (pod: ObservedPod) => void }

/** Listeners by the name of the run that they follow. */
export function createSubscriptions() {
  const listeners = new Map<string, Set<RunListener>>()

  /** @returns a function that ends the subscription */
  function subscribe(runName: string, listener: RunListener): () => void {
    const set = listeners.get(runName) ?? new Set()
    listeners.set(runName, set.add(listener))
    return () => {
      set.delete(listener)
      if (set.size === 0 && listeners.get(runName) === set) listeners.delete(runName)
    }
  }

  return {
    subscribe,
    of: (runName: string): Iterable<RunListener> => listeners.get(runName) ?? [],
    runNames: (): string[] => [...listeners.keys()],
  }
}
