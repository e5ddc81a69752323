// A model server is a Deployment, which keeps its replicas, and what the Deployment owns. The Deployment has the same name
// at each launch, so that two launches never run at once and an autoscaler finds it. All other objects have the run's name.
import type { V1Deployment, V1PodDisruptionBudget, V1PodTemplateSpec, V1Service } from '@kubernetes/client-node'
import type { ModelServerSpec } from '../../model-servers.ts'
import { resourceFields, variables } from '../pods/container-fields.ts'
import { objectLabels, runLabels, specHashAnnotation } from '../pods/labels.ts'
import { mergeTemplate } from '../pods/merge-template.ts'
import type { JsonObject } from '../pods/merge-template.ts'
import { ownedMetadata } from '../pods/owned-objects.ts'
import type { Owner } from '../pods/owned-objects.ts'
import { podTemplate, specHash } from '../pods/pod-template.ts'
import type { PodSettings } from '../pods/pod-template.ts'
import { resourcesOfProgram, vllmFields } from './vllm-container.ts'

const program = 'model-server'
const port = 8000
const selected = (spec: ModelServerSpec) => runLabels(program, spec)
/** Half an hour, because weights may have to be downloaded from a hub first. */
const startProbe = { periodSeconds: 10, failureThreshold: 180 }
/** After this a silent node's replicas are created elsewhere; the cluster's own default is five minutes. */
const silentNodeSeconds = 30

/** The cluster's readiness. Callers go by the server's own report, which it sends after its first generation. */
const health = { httpGet: { path: '/health', port: port } }

/** The platform team's templates override our probes and tolerations too. */
export function modelServerTemplate(spec: ModelServerSpec, settings: PodSettings): V1PodTemplateSpec {
  const resources = resourcesOfProgram(spec)
  const { cpuCount, memoryBytes, gpuCount } = spec.resources
  const ofEngine = { cpuCount, gpuCount, ...(memoryBytes !== undefined && { memoryBytes }) }
  const vllm = vllmFields(spec, resourceFields(ofEngine, settings.gpuResource))
  return podTemplate(program, { ...spec, resources }, settings, {
    defaults: mergeTemplate(defaultFields(spec), vllm),
    own: runFields,
  })
}

function defaultFields(spec: ModelServerSpec): JsonObject {
  return {
    spec: {
      containers: [
        {
          name: program,
          ports: [{ name: 'http', containerPort: port }],
          startupProbe: { ...health, ...startProbe, timeoutSeconds: 5 },
          readinessProbe: { ...health, periodSeconds: 5, timeoutSeconds: 5 },
          // A server that does not answer this probe for a minute will not recover by itself.
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
          labelSelector: { matchLabels: selected(spec) },
        },
      ],
    },
  }
}

const podField = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })

/** Each replica reports its own name and address. */
const runFields: JsonObject = {
  spec: {
    restartPolicy: 'Always',
    containers: [
      {
        name: program,
        env: [
          podField('ANNEAL_INSTANCE', 'metadata.name'),
          podField('ANNEAL_ADVERTISE_HOST', 'status.podIP'),
          ...variables({ ANNEAL_BIND_HOST: '0.0.0.0', ANNEAL_PORT: String(port) }),
        ],
      },
    ],
  },
}

/** `replicas` is set once: an autoscaler may change it from then on. */
export function deploymentManifest(spec: ModelServerSpec, template: V1PodTemplateSpec, instance: string): V1Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: spec.labels.server,
      labels: objectLabels(program, spec, instance),
      annotations: { [specHashAnnotation]: specHash(spec) },
    },
    spec: {
      replicas: spec.replicas ?? 1,
      // A change of the spec is a new launch, never a new template for this Deployment.
      revisionHistoryLimit: 0,
      selector: { matchLabels: selected(spec) },
      template,
    },
  }
}

/** The Service is headless, because callers choose the replica with the least work. */
export function modelServerService(spec: ModelServerSpec, owner: Owner, instance: string): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(program, spec, owner, instance),
    spec: {
      clusterIP: 'None',
      selector: selected(spec),
      ports: [{ name: 'http', port: port, targetPort: 'http' }],
    },
  }
}

/** A single replica has a budget, too: a drain can finish, and another replica is created at once. */
export function modelServerBudget(spec: ModelServerSpec, owner: Owner, instance: string): V1PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: ownedMetadata(program, spec, owner, instance),
    // A replica that is not ready must not delay the drain of its node.
    spec: {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selected(spec) },
    },
  }
}
