import type { RunSpec } from '../../compute.ts'
import { ComputeError } from '../../errors.ts'
import { hasStatus } from '../api/api-error.ts'
import { readOwner } from '../pods/observed-objects.ts'
import type { ObservedOwner } from '../pods/observed-objects.ts'
import { isOurs } from '../pods/labels.ts'
import { refusedAsInvalid } from '../trainers/launch.ts'
import { secretManifest } from '../pods/owned-objects.ts'
import type { DeploymentsApi } from './deployments-api.ts'
import {
  deploymentManifest,
  deploymentName,
  modelServerBudget,
  modelServerService,
  modelServerTemplate,
} from './manifests.ts'
import type { Servers } from './runs.ts'

/**
 * The Deployment, then what it owns, whose absence only makes its pods wait: what is cut off here is finished by a
 * repeat, and all of it goes with the Deployment.
 */
export async function launchModelServer(servers: Servers, spec: RunSpec): Promise<{ uid: string; adopted: boolean }> {
  const { cluster, api } = servers
  const template = modelServerTemplate(spec, cluster.pods)
  await refusedAsInvalid(() => servers.checkAdmission(template))
  const { deployment, adopted } = await refusedAsInvalid(() => createOrAdopt(api, spec, template))
  const owner = { kind: 'Deployment', name: deployment.name, uid: deployment.uid } as const
  await cluster.api.putSecret(secretManifest(spec, owner))
  await api.createOwned(modelServerService(spec, owner))
  await api.createOwned(modelServerBudget(spec, owner))
  return { uid: deployment.uid, adopted }
}

async function createOrAdopt(
  api: DeploymentsApi,
  spec: RunSpec,
  template: ReturnType<typeof modelServerTemplate>,
): Promise<{ deployment: ObservedOwner; adopted: boolean }> {
  try {
    const created = await api.createDeployment(deploymentManifest(spec, template))
    return { deployment: readOwner(created), adopted: false }
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const name = deploymentName(spec)
    const existing = await api.getDeployment(name)
    const deployment = existing && readOwner(existing)
    if (!deployment || deployment.isBeingDeleted)
      throw new ComputeError('unavailable', `${name} is just being removed.`, { cause: error })
    if (!isOurs(deployment.labels))
      throw new ComputeError('invalid', `A Deployment ${name} exists that is not Anneal's.`)
    if (deployment.runName !== spec.name)
      throw new ComputeError('unavailable', `${name} is still that of ${deployment.runName}.`)
    return { deployment, adopted: true }
  }
}
