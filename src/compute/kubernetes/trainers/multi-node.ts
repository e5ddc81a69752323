// What a run on several nodes has besides its Job: pods that know their number and find the first of them by name.
import type { V1Service } from '@kubernetes/client-node'
import type { RunSpec } from '../../compute.ts'
import { nodeRankAnnotation, nodesLabel, runLabel } from '../pods/labels.ts'
import type { JsonObject } from '../pods/merge-template.ts'
import { ownedMetadata } from '../pods/owned-objects.ts'
import type { Owner } from '../pods/owned-objects.ts'

const rendezvousPort = 29_500

/** A request may say 0 for "as usual". */
export const nodeCountOf = ({ resources }: RunSpec): number => Math.max(1, resources.nodeCount ?? 1)

/** Each node its own pod, on nodes of their own where there is room: `<run>-<rank>.<run>` is its name in the DNS. */
export function nodesFields(spec: RunSpec): JsonObject {
  const { name, program } = spec
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
      containers: [{ name: program, env }],
    },
  }
}

/** The processes of several GPUs speak through shared memory, of which a container has 64 MiB. */
export function gpusFields({ program, resources }: RunSpec): JsonObject {
  if (program !== 'trainer' || resources.gpuCount < 2) return {}
  const name = 'shared-memory'
  return {
    spec: {
      containers: [{ name: program, volumeMounts: [{ name, mountPath: '/dev/shm' }] }],
      volumes: [{ name, emptyDir: { medium: 'Memory' } }],
    },
  }
}

/** Gives the pods their names. They look for each other before they are ready for anything. */
export function nodesService(spec: RunSpec, owner: Owner): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(spec, owner),
    spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { [runLabel]: spec.name } },
  }
}
