// A model server: a Deployment, which keeps its replicas, and what goes with it. The Deployment has the same name at each
// launch, so that two never share the memory and an autoscaler finds it; the rest has the run's, which no other launch has.
import type { V1Deployment, V1PodDisruptionBudget, V1PodTemplateSpec, V1Service } from '@kubernetes/client-node'
import type { RunSpec } from '../../compute.ts'
import { resourceFields } from '../pods/container-fields.ts'
import { runLabels, specHashAnnotation } from '../pods/labels.ts'
import { mergeTemplate } from '../pods/merge-template.ts'
import type { JsonObject } from '../pods/merge-template.ts'
import { ownedMetadata } from '../pods/owned-objects.ts'
import type { Owner } from '../pods/owned-objects.ts'
import { modelServerPort, podTemplate, specHash } from '../pods/pod-template.ts'
import type { PodSettings } from '../pods/pod-template.ts'
import { resourcesOfProgram, vllmFields } from './vllm-container.ts'

/** Weights may have to come from a hub first. */
const startLooks = { periodSeconds: 10, failureThreshold: 180 }
/** As long as a node may be silent before its replicas are made elsewhere; the cluster's own default is five minutes. */
const silentNodeSeconds = 30

/** Pods are ready by this for the cluster; for our callers by the server's own report, after it has generated something. */
const health = { httpGet: { path: '/health', port: modelServerPort } }

/** What the platform team says goes over our probes and tolerations too. */
export function modelServerTemplate(spec: RunSpec, { templates, gpuResource }: PodSettings): V1PodTemplateSpec {
  const defaults = mergeTemplate(defaultFields(spec), vllmFields(spec, resourceFields(spec.resources, gpuResource)))
  const layered = { ...templates, 'model-server': mergeTemplate(defaults, templates['model-server']) }
  const program = { ...spec, resources: resourcesOfProgram(spec) }
  const base = podTemplate(program, { templates: layered, gpuResource }) as unknown as JsonObject
  return mergeTemplate(base, runFields(spec)) as unknown as V1PodTemplateSpec
}

function defaultFields(spec: RunSpec): JsonObject {
  return {
    spec: {
      containers: [
        {
          name: spec.program,
          ports: [{ name: 'http', containerPort: modelServerPort }],
          startupProbe: { ...health, ...startLooks, timeoutSeconds: 5 },
          readinessProbe: { ...health, periodSeconds: 5, timeoutSeconds: 5 },
          // One that does not even answer this for a minute will not come back by itself.
          livenessProbe: { ...health, periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6 },
        },
      ],
      tolerations: ['not-ready', 'unreachable'].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: silentNodeSeconds,
      })),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: runLabels(spec) },
        },
      ],
    },
  }
}

function runFields({ program }: RunSpec): JsonObject {
  const instance = { name: 'ANNEAL_INSTANCE', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }
  return { spec: { restartPolicy: 'Always', containers: [{ name: program, env: [instance] }] } }
}

export const deploymentName = ({ name, labels }: RunSpec) => labels['server'] ?? name

/** Its count is set once: from then on it may belong to an autoscaler. */
export function deploymentManifest(spec: RunSpec, template: V1PodTemplateSpec): V1Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: deploymentName(spec),
      labels: runLabels(spec),
      annotations: { [specHashAnnotation]: specHash(spec) },
    },
    spec: {
      replicas: spec.replicas ?? 1,
      // A change is a new launch, never a new template.
      revisionHistoryLimit: 0,
      selector: { matchLabels: runLabels(spec) },
      template,
    },
  }
}

/** Headless: callers choose their replica, by what each has under way. */
export function modelServerService(spec: RunSpec, owner: Owner): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(spec, owner),
    spec: {
      clusterIP: 'None',
      selector: runLabels(spec),
      ports: [{ name: 'http', port: modelServerPort, targetPort: 'http' }],
    },
  }
}

/** Also of a single replica: a drain must be able to end, and another one is made at once. */
export function modelServerBudget(spec: RunSpec, owner: Owner): V1PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: ownedMetadata(spec, owner),
    // A replica that is not ready serves nobody: it must not hold up the drain of its node.
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: runLabels(spec) },
    },
  }
}
