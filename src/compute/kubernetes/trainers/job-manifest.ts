import type { V1Job, V1PodTemplateSpec } from '@kubernetes/client-node'
import type { Priority } from '../../../domain/priority.ts'
import type { RunSpec } from '../../compute.ts'
import { runLabels, specHashAnnotation } from '../pods/labels.ts'
import { nodeCountOf } from './multi-node.ts'
import { specHash } from '../pods/pod-template.ts'

/** Kueue's LocalQueue and, by priority, its WorkloadPriorityClasses. */
export type QueueSettings = { queue: string; priorityClasses?: Record<Priority, string> }

/**
 * One attempt is one pod a node: none is ever started again by the cluster. Several are an Indexed Job, whose pods have
 * names that do not change: what a JobSet would add (Jobs of several kinds, restarts of the whole) has no use here.
 */
export function jobManifest(spec: RunSpec, template: V1PodTemplateSpec, queue: QueueSettings | null): V1Job {
  const nodeCount = nodeCountOf(spec)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: spec.name,
      labels: { ...runLabels(spec), ...(queue && queueLabels(queue, spec.priority)) },
      annotations: { [specHashAnnotation]: specHash(spec) },
    },
    spec: {
      parallelism: nodeCount,
      completions: nodeCount,
      ...(nodeCount > 1 && { completionMode: 'Indexed' }),
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      // So the Job's own condition keeps how its pod ended, after the pod is gone.
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { containerName: spec.program, operator: 'NotIn', values: [0, 137, 143] } },
          { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { containerName: spec.program, operator: 'NotIn', values: [0] } },
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
