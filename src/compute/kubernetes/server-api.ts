// The calls for model servers, besides those of kubernetes-api.ts.
import type { V1Deployment, V1PodDisruptionBudget, V1Service } from '@kubernetes/client-node'
import type { Readable } from 'node:stream'
import type { ApiCaller } from './api-caller.ts'
import { hasStatus } from './api-error.ts'
import type { KubernetesObject } from './facts.ts'
import type { Collection } from './kubernetes-api.ts'

export type ServerApi = ReturnType<typeof createServerApi>

export function createServerApi(caller: ApiCaller, namespace: string) {
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
  const core = `/api/v1/namespaces/${namespace}`
  const owned = {
    Service: `${core}/services`,
    PodDisruptionBudget: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  }

  async function orNull<T>(answer: Promise<T>, ...statuses: number[]): Promise<T | null> {
    try {
      return await answer
    } catch (error) {
      if (hasStatus(error, ...statuses)) return null
      throw error
    }
  }

  const remove = (path: string, body: object, signal?: AbortSignal) =>
    orNull(caller.call({ method: 'DELETE', path, body, ...(signal && { signal }) }), 404, 409)

  return {
    deployments: (labelSelector: string): Collection => ({ path: deployments, labelSelector }),

    createDeployment: async (body: V1Deployment) =>
      (await caller.call({ method: 'POST', path: deployments, body })) as KubernetesObject,

    getDeployment: async (name: string, signal?: AbortSignal) =>
      (await orNull(
        caller.call({ method: 'GET', path: `${deployments}/${name}`, ...(signal && { signal }) }),
        404,
      )) as KubernetesObject | null,

    /** Its pods go first, with their own grace. */
    deleteDeployment: (name: string, uid: string, signal?: AbortSignal) =>
      remove(`${deployments}/${name}`, { propagationPolicy: 'Foreground', preconditions: { uid } }, signal),

    /** Makes it so: one of an older launch is on its way out with its owner. */
    async replace(body: V1Service | V1PodDisruptionBudget): Promise<void> {
      const path = owned[body.kind as keyof typeof owned]
      const create = () => orNull(caller.call({ method: 'POST', path, body }), 409)
      if (await create()) return
      const there = (await orNull(
        caller.call({ method: 'GET', path: `${path}/${body.metadata?.name}` }),
        404,
      )) as KubernetesObject | null
      const ownerUid = body.metadata?.ownerReferences?.[0]?.uid
      if (there?.metadata?.ownerReferences?.some(({ uid }) => uid === ownerUid)) return
      await remove(`${path}/${body.metadata?.name}`, {})
      await caller.call({ method: 'POST', path, body })
    },

    async deleteOwned(name: string, signal?: AbortSignal): Promise<void> {
      for (const path of Object.values(owned)) await remove(`${path}/${name}`, {}, signal)
    },

    /** Null when there is no such log. */
    openLog: (
      pod: string,
      { container, previous }: { container: string; previous: boolean },
      signal: AbortSignal,
    ): Promise<Readable | null> => {
      const query = { container, previous: previous ? 'true' : undefined }
      return orNull(caller.stream({ method: 'GET', path: `${core}/pods/${pod}/log`, query, signal }), 400, 404)
    },
  }
}
