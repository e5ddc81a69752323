// Every model server's Deployment and pods in memory: one list-and-watch of each kind, shared by all watchers.
import type { Collection, KubernetesApi } from '../api/kubernetes-api.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'
import { readOwner } from '../pods/observed-pod.ts'
import type { ObservedOwner } from '../pods/observed-pod.ts'
import { createInformers } from '../watch/informers.ts'
import type { InformedCollection } from '../watch/informers.ts'
import { selectorOfProgram } from '../pods/labels.ts'
import type { DeploymentsApi } from './deployments-api.ts'
import { readReplica } from './snapshot.ts'
import type { ObservedReplica, ModelServerSnapshot } from './snapshot.ts'
import { createSubscriptions } from '../watch/subscriptions.ts'

export type ModelServerCache = ReturnType<typeof createModelServerCache>

export function createModelServerCache(api: KubernetesApi, deploymentsApi: DeploymentsApi) {
  const deployments = new Map<string, ObservedOwner>()
  const replicas = new Map<string, ObservedReplica>()
  const { of: listenersOf, runNames, subscribe } = createSubscriptions()
  const ours = selectorOfProgram('model-server')
  const collections = createInformers(
    api,
    [
      following(deploymentsApi.deployments(ours), deployments, readOwner),
      following(api.pods(ours), replicas, readReplica),
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
  ): InformedCollection {
    return {
      collection,
      isNeeded: true,
      onObject(raw) {
        const snapshot = read(raw)
        known.set(snapshot.uid, snapshot)
        tell(snapshot.runName)
      },
      onGone(uid) {
        const snapshot = known.get(uid)
        known.delete(uid)
        if (snapshot) tell(snapshot.runName)
      },
    }
  }

  return {
    ...collections,
    subscribe,
    snapshot: (runName: string): ModelServerSnapshot => ({
      deployment: [...deployments.values()].find((each) => each.runName === runName) ?? null,
      replicas: [...replicas.values()].filter((each) => each.runName === runName),
    }),
  }
}
