// What goes with the Job or the Deployment that owns it: nothing of it stays when that is gone.
import type { V1ObjectMeta, V1Secret } from '@kubernetes/client-node'
import type { RunSpec } from '../../compute.ts'
import { runLabels } from './labels.ts'

export type Owner = { kind: keyof typeof apiVersions; name: string; uid: string }

const apiVersions = { Job: 'batch/v1', Deployment: 'apps/v1' }

/** The run's pods wait the moment until this exists. */
export function secretManifest(spec: RunSpec, owner: Owner): V1Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: ownedMetadata(spec, owner),
    stringData: spec.secretEnv,
  }
}

export function ownedMetadata(spec: RunSpec, { kind, name, uid }: Owner): V1ObjectMeta {
  const reference = { apiVersion: apiVersions[kind], kind, name, uid, controller: true }
  return {
    name: spec.name,
    labels: runLabels(spec),
    // Blocks the Job's deletion, so that a Job that is gone has left nothing; a Deployment's are removed by name.
    ownerReferences: [{ ...reference, ...(kind === 'Job' && { blockOwnerDeletion: true }) }],
  }
}
