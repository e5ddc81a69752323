// What this worker knows of model servers: a list-and-watch of their Deployments and one of their pods, for all watchers.
import { readOwner } from './facts.ts'
import type { KubernetesObject, OwnerFacts } from './facts.ts'
import { runInformer } from './informer.ts'
import type { Collection, KubernetesApi } from './kubernetes-api.ts'
import { selectorOfProgram } from './labels.ts'
import type { ServerApi } from './server-api.ts'
import { readReplica } from './server-facts.ts'
import type { ReplicaFacts, ServerFacts } from './server-facts.ts'

export type ServerView = ReturnType<typeof createServerView>

/** Some states change by time alone: an image that does not come, a node that does not answer. */
const lookAgainEveryMs = 5_000

export function createServerView(api: KubernetesApi, serverApi: ServerApi) {
  const stopping = new AbortController()
  const deployments = new Map<string, OwnerFacts>()
  const replicas = new Map<string, ReplicaFacts>()
  const listeners = new Map<string, Set<() => void>>()
  const troubles = new Map<string, string | null>()
  let started = false

  const tell = (runName: string | undefined) => listeners.get(runName ?? '')?.forEach((listener) => listener())
  const tellAll = () => [...listeners.keys()].forEach(tell)

  function follow<T extends { uid: string; runName: string }>(
    collection: Collection,
    known: Map<string, T>,
    read: (raw: KubernetesObject) => T,
  ) {
    const { path } = collection
    troubles.set(path, 'The cluster has not answered yet.')
    void runInformer({
      api,
      collection,
      signal: stopping.signal,
      onObject: (raw) => {
        const facts = read(raw)
        known.set(facts.uid, facts)
        tell(facts.runName)
      },
      onGone: (uid) => {
        const runName = known.get(uid)?.runName
        known.delete(uid)
        tell(runName)
      },
      onTrouble: (message) => {
        if (troubles.get(path) === message) return
        troubles.set(path, message)
        tellAll()
      },
    })
  }

  return {
    /** Starts with the first use. */
    start() {
      if (started) return
      started = true
      const ours = selectorOfProgram('model-server')
      follow(serverApi.deployments(ours), deployments, readOwner)
      follow(api.collections.pods(ours), replicas, readReplica)
      const timer = setInterval(tellAll, lookAgainEveryMs).unref()
      stopping.signal.addEventListener('abort', () => clearInterval(timer))
    },
    /** Null while what we hold is the truth; else why it may not be. */
    trouble: (): string | null => [...troubles.values()].find((message) => message !== null) ?? null,
    facts: (runName: string): ServerFacts => ({
      deployment: [...deployments.values()].find((each) => each.runName === runName) ?? null,
      replicas: [...replicas.values()].filter((each) => each.runName === runName),
    }),
    subscribe(runName: string, listener: () => void): () => void {
      const set = listeners.get(runName) ?? new Set()
      listeners.set(runName, set.add(listener))
      return () => {
        set.delete(listener)
        if (set.size === 0 && listeners.get(runName) === set) listeners.delete(runName)
      }
    },
    stop: () => stopping.abort(),
  }
}
