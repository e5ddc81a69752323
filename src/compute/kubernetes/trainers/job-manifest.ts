import type { V1Job, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { Priority } from '../../../domain/priority.ts'
import type { TrainerSpec } from '../../trainers.ts'
import { objectLabels, specHashAnnotation } from '../pods/labels.ts'
import { podTemplate, specHash } from '../pods/pod-template.ts'
import type { PodSettings } from '../pods/pod-template.ts'
import { gpusFields, nodeCountOf, nodesFields } from './multi-node.ts'

/** Kueue's LocalQueue and, by priority, its WorkloadPriorityClasses. */
export type QueueSettings = { queue: string; priorityClasses?: Record<Priority, string> }

export const trainerTemplate = (spec: TrainerSpec, settings: PodSettings): V1PodTemplateSpec =>
  podTemplate('trainer', spec, settings, { defaults: gpusFields(spec), own: nodesFields(spec) })

/**
 * One attempt is one pod on each node, and the cluster starts no pod a second time. Several nodes are an Indexed Job,
 * whose pods have stable names. A JobSet would add Jobs of several kinds and restarts of the whole: neither has a use.
 */
export function jobManifest(
  spec: TrainerSpec,
  template: V1PodTemplateSpec,
  { queue, instance }: { queue: QueueSettings | null; instance: string },
): V1Job {
  const nodeCount = nodeCountOf(spec)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: spec.name,
      labels: { ...objectLabels('trainer', spec, instance), ...(queue && queueLabels(queue, spec.priority)) },
      annotations: { [specHashAnnotation]: specHash(spec) },
    },
    spec: {
      parallelism: nodeCount,
      completions: nodeCount,
      ...(nodeCount > 1 && { completionMode: 'Indexed' }),
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      // The Job's own condition then says how its pod ended, also after the pod is gone.
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { containerName: 'trainer', operator: 'NotIn', values: [0, 137, 143] } },
          { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { containerName: 'trainer', operator: 'NotIn', values: [0] } },
        ],
      },
      ...(queue && { suspend: true }),
      template,
    },
  }
}

function queueLabels({ queue, priorityClasses }: QueueSettings, priority: Priority = 'normal'): Record<string, string> {
  return {
    'kueue.x-k8s.io/queue-name': queue,
    ...(priorityClasses && { 'kueue.x-k8s.io/priority-class': priorityClasses[priority] }),
  }
}
