// What this worker knows of model servers: a list-and-watch of their Deployments and one of their pods, for all watchers.
import { readOwner } from '../api/observed-objects.ts'
import type { KubernetesObject, OwnerFacts } from '../api/observed-objects.ts'
import { followCollections } from '../watch/informers.ts'
import type { Followed } from '../watch/informers.ts'
import type { Collection, KubernetesApi } from '../api/kubernetes-api.ts'
import { selectorOfProgram } from '../pods/labels.ts'
import type { ServerApi } from './api.ts'
import { readReplica } from './snapshot.ts'
import type { ReplicaFacts, ServerFacts } from './snapshot.ts'
import { createSubscriptions } from '../watch/subscriptions.ts'

export type ServerView = ReturnType<typeof createServerView>

export function createServerView(api: KubernetesApi, serverApi: ServerApi) {
  const deployments = new Map<string, OwnerFacts>()
  const replicas = new Map<string, ReplicaFacts>()
  const { of: listenersOf, runNames, subscribe } = createSubscriptions()
  const ours = selectorOfProgram('model-server')
  const collections = followCollections(
    api,
    [
      following(serverApi.deployments(ours), deployments, readOwner),
      following(api.collections.pods(ours), replicas, readReplica),
    ],
    () => runNames().forEach(tell),
  )

  function tell(runName: string): void {
    for (const { onChange } of listenersOf(runName)) onChange()
  }

  function following<T extends { uid: string; runName: string }>(
    collection: Collection,
    known: Map<string, T>,
    read: (raw: KubernetesObject) => T,
  ): Followed {
    return {
      collection,
      isNeeded: true,
      onObject(raw) {
        const facts = read(raw)
        known.set(facts.uid, facts)
        tell(facts.runName)
      },
      onGone(uid) {
        const facts = known.get(uid)
        known.delete(uid)
        if (facts) tell(facts.runName)
      },
    }
  }

  return {
    ...collections,
    subscribe,
    facts: (runName: string): ServerFacts => ({
      deployment: [...deployments.values()].find((each) => each.runName === runName) ?? null,
      replicas: [...replicas.values()].filter((each) => each.runName === runName),
    }),
  }
}
