// Objects that a run's Job or Deployment owns: the cluster deletes them with it.
import type { V1ObjectMeta, V1Secret } from '@kubernetes/client-node'
import type { RunProgram, RunSpec } from '../../run.ts'
import { objectLabels } from './labels.ts'

export type Owner = { kind: keyof typeof apiVersions; name: string; uid: string }

const apiVersions = { Job: 'batch/v1', Deployment: 'apps/v1' }

/** The run's pods wait until this Secret exists. */
export function secretManifest(program: RunProgram, spec: RunSpec, owner: Owner, instance: string): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: ownedMetadata(program, spec, owner, instance),
    stringData: spec.secretEnv,
  }
}

export function ownedMetadata(
  program: RunProgram,
  spec: RunSpec,
  { kind, name, uid }: Owner,
  instance: string,
): V1ObjectMeta {
  const reference = { apiVersion: apiVersions[kind], kind, name, uid, controller: true }
  return {
    name: spec.name,
    labels: objectLabels(program, spec, instance),
    // Blocks the deletion of the Job, so that none of its objects outlives it. The objects of a Deployment are removed by name.
    ownerReferences: [{ ...reference, ...(kind === 'Job' && { blockOwnerDeletion: true }) }],
  }
}
