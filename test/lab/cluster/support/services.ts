// Our own services on the cluster, api and worker: their pods, their settings, and whether they are up.
import { randomUUID } from 'node:crypto'
import { api, until, type Pod } from './cluster.ts'

type Deployment = {
  metadata: { generation: number }
  spec: { replicas: number }
  status: { observedGeneration?: number; updatedReplicas?: number; readyReplicas?: number }
}

const namespace = '/api/v1/namespaces/anneal'
const deploymentPath = (name: string) => `/apis/apps/v1/namespaces/anneal/deployments/${name}`
const podsOf = (name: string) => api.list<Pod>(`${namespace}/pods?labelSelector=app.kubernetes.io/name=${name}`)

/** The pods of a Deployment, without those that are being deleted. */
export async function servicePods(name: string) {
  return (await podsOf(name)).filter(({ metadata }) => !metadata.deletionTimestamp)
}

/** Waits until api and worker answer, with exactly the wanted number of replicas. */
export const servicesAreUp = () => until('api and worker are up', bothAreUp)

async function bothAreUp() {
  for (const name of ['anneal-api', 'anneal-worker']) {
    const { metadata, spec, status } = await api.get<Deployment>(deploymentPath(name))
    const counts = [status.updatedReplicas, status.readyReplicas, (await podsOf(name)).length]
    if (status.observedGeneration !== metadata.generation || counts.some((count) => count !== spec.replicas))
      return false
  }
  return true
}

export const scaleWorkers = (replicas: number) => api.patch(deploymentPath('anneal-worker'), { spec: { replicas } })

/** Does the same as `kubectl rollout restart`. */
export function rollWorkers() {
  const annotations = { 'anneal.dev/rolled': randomUUID() }
  return api.patch(deploymentPath('anneal-worker'), { spec: { template: { metadata: { annotations } } } })
}

/** Writes settings into the Secret that wins over all others; null removes a setting. Resolves when all workers have them. */
export async function setWorkers(settings: Record<string, string | null>) {
  const data = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value && Buffer.from(value).toString('base64')]),
  )
  await api.patch(`${namespace}/secrets/anneal-secrets`, { data })
  await rollWorkers()
  await servicesAreUp()
}
