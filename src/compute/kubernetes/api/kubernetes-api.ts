// The calls of the Kubernetes API that trainers and model servers share. The worker's Role needs the verbs of this file, of
// trainers/jobs-api.ts and of model-servers/deployments-api.ts.
import type { V1Pod, V1PodTemplateSpec, V1Secret } from '@kubernetes/client-node'
import type { Readable } from 'node:stream'
import type { ApiCaller } from './api-caller.ts'
import { hasStatus } from './api-error.ts'
import type { KubernetesObject } from './kubernetes-object.ts'

export type KubernetesApi = ReturnType<typeof createKubernetesApi>

/** A collection that can be listed and watched. */
export type Collection = { path: string; labelSelector?: string; fieldSelector?: string }

type List = { metadata: { resourceVersion: string; continue?: string }; items: KubernetesObject[] }

const pageSize = 500

export function createKubernetesApi(caller: ApiCaller, namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`
  const pods = `${core}/pods`

  return {
    pods: (labelSelector: string): Collection => ({ path: pods, labelSelector }),

    createPod: (body: V1Pod) => caller.createUnlessExists(pods, body),

    /** Creates nothing. @throws ApiError where the cluster would refuse such a pod */
    tryPod: async ({ metadata, spec }: V1PodTemplateSpec): Promise<void> => {
      const { labels, annotations } = metadata ?? {}
      const body = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { generateName: 'anneal-check-', labels, annotations },
        spec,
      }
      await caller.call({ method: 'POST', path: pods, query: { dryRun: 'All' }, body })
    },

    /** The grace can be shortened, not prolonged. A grace of zero would delete the object while the pod still runs. */
    deletePod: (name: string, uid: string, graceMs: number, signal?: AbortSignal) => {
      const gracePeriodSeconds = Math.max(1, Math.ceil(graceMs / 1000))
      return caller.remove(`${pods}/${name}`, { gracePeriodSeconds, preconditions: { uid } }, signal)
    },

    /** For a pod whose node does not answer: marks it Failed, then deletes the object. Its processes may live on. */
    declarePodDead: async (name: string, uid: string, signal?: AbortSignal): Promise<void> => {
      const message = 'The node of the run does not answer. The run is fenced and can write nothing more.'
      try {
        await caller.call({
          method: 'PATCH',
          path: `${pods}/${name}/status`,
          patchType: 'application/merge-patch+json',
          body: { metadata: { uid }, status: { phase: 'Failed', reason: 'NodeLost', message } },
          signal,
        })
      } catch (error) {
        if (!hasStatus(error, 404, 409)) throw error
      }
      await caller.remove(`${pods}/${name}`, { gracePeriodSeconds: 0, preconditions: { uid } }, signal)
    },

    /** Overwrites a Secret that an earlier launch of the name left. */
    putSecret: async (secret: V1Secret): Promise<void> => {
      try {
        await caller.call({ method: 'POST', path: `${core}/secrets`, body: secret })
      } catch (error) {
        if (!hasStatus(error, 409)) throw error
        await caller.call({
          method: 'PATCH',
          path: `${core}/secrets/${secret.metadata?.name}`,
          patchType: 'application/merge-patch+json',
          body: secret,
        })
      }
    },

    deleteSecret: (name: string, signal?: AbortSignal) => caller.remove(`${core}/secrets/${name}`, {}, signal),

    /** Null when there is no such pod, or no such container yet. */
    openLog: async (
      name: string,
      options: { container: string; follow?: boolean; /** The log from before its last start. */ previous?: boolean },
      signal: AbortSignal,
    ): Promise<Readable | null> => {
      const { container, follow, previous } = options
      const query = { container, follow: follow ? 'true' : undefined, previous: previous ? 'true' : undefined }
      try {
        return await caller.stream({ method: 'GET', path: `${pods}/${name}/log`, query, signal })
      } catch (error) {
        if (hasStatus(error, 400, 404)) return null
        throw error
      }
    },

    /** Keeps only the results of `read`, so that one page of thousands of objects is in memory at a time. */
    list: async <T>(collection: Collection, read: (raw: KubernetesObject) => T, signal?: AbortSignal) => {
      const { path, labelSelector, fieldSelector } = collection
      const items: T[] = []
      for (let next: string | undefined; ;) {
        const query = { labelSelector, fieldSelector, limit: pageSize, continue: next }
        const page = (await caller.call({ method: 'GET', path, query, signal })) as List
        items.push(...page.items.map(read))
        next = page.metadata.continue
        if (!next) return { items, version: page.metadata.resourceVersion }
      }
    },

    /** Resolves once the server answers, to a stream of events: a line of JSON each. */
    watch: (
      { path, labelSelector, fieldSelector }: Collection,
      { version, forSeconds }: { version: string; forSeconds: number },
      signal: AbortSignal,
    ): Promise<Readable> => {
      const query = { watch: 1, allowWatchBookmarks: 'true', resourceVersion: version, timeoutSeconds: forSeconds }
      return caller.stream({ method: 'GET', path, query: { ...query, labelSelector, fieldSelector }, signal })
    },

    clockAheadMs: caller.clockAheadMs,
    close: caller.close,
  }
}
