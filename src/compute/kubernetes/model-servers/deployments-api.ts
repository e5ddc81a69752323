// The calls of the Kubernetes API for Deployments, and for what they own.
import type { V1Deployment, V1PodDisruptionBudget, V1Service } from '@kubernetes/client-node'
import type { ApiCaller } from '../api/api-caller.ts'
import type { Collection } from '../api/kubernetes-api.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'

export type DeploymentsApi = ReturnType<typeof createDeploymentsApi>

export function createDeploymentsApi(caller: ApiCaller, namespace: string) {
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`
  const core = `/api/v1/namespaces/${namespace}`
  const owned = {
    Service: `${core}/services`,
    PodDisruptionBudget: `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  }

  return {
    deployments: (labelSelector: string): Collection => ({ path: deployments, labelSelector }),

    createDeployment: async (body: V1Deployment) =>
      (await caller.call({ method: 'POST', path: deployments, body })) as KubernetesObject,

    getDeployment: (name: string, signal?: AbortSignal) => caller.find(`${deployments}/${name}`, signal),

    /** Its pods are deleted first, with their own grace. */
    deleteDeployment: (name: string, uid: string, signal?: AbortSignal) =>
      caller.remove(`${deployments}/${name}`, { propagationPolicy: 'Foreground', preconditions: { uid } }, signal),

    createOwned: (body: V1Service | V1PodDisruptionBudget) =>
      caller.createUnlessExists(owned[body.kind as keyof typeof owned], body),

    async deleteOwned(name: string, signal?: AbortSignal): Promise<void> {
      for (const path of Object.values(owned)) await caller.remove(`${path}/${name}`, {}, signal)
    },
  }
}
