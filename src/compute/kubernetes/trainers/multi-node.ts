// A run on several nodes: each pod knows its number and finds the first pod by name.
import type { V1Service } from '@kubernetes/client-node'
import type { TrainerSpec } from '../../trainers.ts'
import { nodeRankAnnotation, nodesLabel, runLabel } from '../pods/labels.ts'
import type { JsonObject } from '../pods/merge-template.ts'
import { ownedMetadata } from '../pods/owned-objects.ts'
import type { Owner } from '../pods/owned-objects.ts'

const rendezvousPort = 29_500

/** 0 in a request means the default. */
export const nodeCountOf = ({ resources }: TrainerSpec): number => Math.max(1, resources.nodeCount ?? 1)

/** One pod for each node, on different nodes where there is room. Its DNS name is `<run>-<rank>.<run>`. */
export function nodesFields(spec: TrainerSpec): JsonObject {
  const { name } = spec
  const nodeCount = nodeCountOf(spec)
  if (nodeCount === 1) return {}
  const env = [
    { name: 'ANNEAL_NODE_COUNT', value: String(nodeCount) },
    {
      name: 'ANNEAL_NODE_RANK',
      valueFrom: { fieldRef: { fieldPath: `metadata.annotations['${nodeRankAnnotation}']` } },
    },
    { name: 'ANNEAL_RENDEZVOUS', value: `${name}-0.${name}:${rendezvousPort}` },
  ]
  return {
    metadata: { labels: { [nodesLabel]: String(nodeCount) } },
    spec: {
      subdomain: name,
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { [runLabel]: name } },
        },
      ],
      containers: [{ name: 'trainer', env }],
    },
  }
}

/** The processes of several GPUs exchange data through shared memory; a container has 64 MiB by default. */
export function gpusFields({ resources }: TrainerSpec): JsonObject {
  if (resources.gpuCount < 2) return {}
  const name = 'shared-memory'
  return {
    spec: {
      containers: [{ name: 'trainer', volumeMounts: [{ name, mountPath: '/dev/shm' }] }],
      volumes: [{ name, emptyDir: { medium: 'Memory' } }],
    },
  }
}

/** Gives the pods their DNS names. They look for each other before they are ready. */
export function nodesService(spec: TrainerSpec, owner: Owner, instance: string): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata('trainer', spec, owner, instance),
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { [runLabel]: spec.name } },
  }
}
