import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { ComputeError } from '../../errors.ts'
import type { ModelServerSpec } from '../../model-servers.ts'
import type { Launched } from '../../run.ts'
import { hasStatus } from '../api/api-error.ts'
import { refusedAsInvalid } from '../cluster.ts'
import { isOurs } from '../pods/labels.ts'
import { readOwner } from '../pods/observed-pod.ts'
import type { ObservedOwner } from '../pods/observed-pod.ts'
import { secretManifest } from '../pods/owned-objects.ts'
import { deploymentManifest, modelServerBudget, modelServerService, modelServerTemplate } from './manifests.ts'
import type { ModelServerCluster } from './model-server-cluster.ts'

/**
 * Creates the Deployment, then the objects that it owns, for which its pods wait. A repeat completes a launch that was cut
 * off. All objects are deleted with the Deployment.
 */
export async function launchModelServer(cluster: ModelServerCluster, spec: ModelServerSpec): Promise<Launched> {
  const { api, deployments } = cluster
  const { instance } = cluster.pods
  const template = modelServerTemplate(spec, cluster.pods)
  await refusedAsInvalid(() => cluster.checkAdmission(template))
  const { deployment, adopted } = await refusedAsInvalid(() => createOrAdopt(cluster, spec, template))
  const owner = { kind: 'Deployment', name: deployment.name, uid: deployment.uid } as const
  await api.putSecret(secretManifest('model-server', spec, owner, instance))
  await deployments.createOwned(modelServerService(spec, owner, instance))
  await deployments.createOwned(modelServerBudget(spec, owner, instance))
  return { uid: deployment.uid, adopted }
}

async function createOrAdopt(
  { deployments, pods }: ModelServerCluster,
  spec: ModelServerSpec,
  template: V1PodTemplateSpec,
): Promise<{ deployment: ObservedOwner; adopted: boolean }> {
  try {
    const created = await deployments.createDeployment(deploymentManifest(spec, template, pods.instance))
    return { deployment: readOwner(created), adopted: false }
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const name = spec.labels.server
    const existing = await deployments.getDeployment(name)
    const deployment = existing && readOwner(existing)
    if (!deployment || deployment.isBeingDeleted)
      throw new ComputeError('unavailable', `The Deployment ${name} is being deleted.`, { cause: error })
    if (!isOurs(deployment.labels))
      throw new ComputeError('invalid', `The namespace has a Deployment ${name} that Anneal did not create.`)
    if (deployment.runName !== spec.name)
      throw new ComputeError('unavailable', `The Deployment ${name} still belongs to ${deployment.runName}.`)
    return { deployment, adopted: true }
  }
}
