// The pod of a Python grader: a program of a user, so nothing but its own port reaches it, and it reaches nothing.
import type { V1Pod } from '@kubernetes/client-node'
import type { GraderPodSpec } from '../../../domain/grader-pods.ts'
import { hardening, variables } from '../pods/container-fields.ts'
import { describingLabels, runLabels } from '../pods/labels.ts'
import { mergeTemplate, type JsonObject } from '../pods/merge-template.ts'
import type { PodSettings } from '../pods/pod-template.ts'

export const program = 'python-grader'
const port = 8000
const user = 10_001
const gibibyte = 1024 ** 3
/** A grader's memory (run_grader.py), its files, which are in memory, and its server: the kernel ends the pod beyond it. */
const memoryBytes = 2 * gibibyte + gibibyte + gibibyte / 4
/** Whoever uses the pod then asks the next one. */
const mostSeconds = 24 * 60 * 60

/** Null where the platform team names no image. */
export function graderPodManifest(
  spec: GraderPodSpec,
  { templates, instance }: Pick<PodSettings, 'templates' | 'instance'>,
): V1Pod | null {
  const image = templates['python-grader-images'][spec.imageTag]
  if (image === undefined) return null
  const template = templates[program] ?? {}
  // A template may leave the user to a platform such as OpenShift, by null, but it cannot choose one.
  const { securityContext } = (template['spec'] ?? {}) as { securityContext?: { runAsUser?: unknown } }
  const platformChoosesUser = securityContext?.runAsUser === null
  const layers = [defaultFields(image), template, ownFields(spec, platformChoosesUser)]
  const labels = runLabels(program, { name: spec.name, labels: { account: spec.accountId } })
  const { metadata, ...pod } = layers.reduce(mergeTemplate, {
    metadata: { labels: describingLabels(program, instance) },
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: mergeTemplate(metadata as JsonObject, { name: spec.name, labels }),
    ...pod,
  } as V1Pod
}

/** The platform team's template may change these, but not whether the pod is confined. */
const defaultFields = (image: string): JsonObject => ({
  spec: {
    enableServiceLinks: false,
    securityContext: {},
    // The files of graders are in memory: a folder on a disk that is too full costs the pod, not the write.
    volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(gibibyte) } }],
    containers: [
      {
        name: program,
        image,
        command: ['python3', '-I', '/opt/grader/serve_graders.py'],
        // The memory of a pod that is above its request is the first that the kernel takes when a node runs out.
        resources: {
          requests: { cpu: '100m', memory: String(gibibyte / 4), 'ephemeral-storage': String(gibibyte / 16) },
          limits: { cpu: '1', memory: String(memoryBytes), 'ephemeral-storage': String(gibibyte) },
        },
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
      },
    ],
  },
})

function ownFields({ tokenSha256, idleMs }: GraderPodSpec, platformChoosesUser: boolean): JsonObject {
  const env = { ANNEAL_TOKEN_SHA256: tokenSha256, ANNEAL_IDLE_SECONDS: String(idleMs / 1000) }
  return {
    spec: {
      automountServiceAccountToken: false,
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      // Signals of a grader do not reach the first process, which is the server.
      shareProcessNamespace: false,
      restartPolicy: 'Never',
      activeDeadlineSeconds: mostSeconds,
      // As the first process it has no use for SIGTERM, and nothing to save.
      terminationGracePeriodSeconds: 1,
      securityContext: {
        runAsNonRoot: true,
        ...(!platformChoosesUser && { runAsUser: user, runAsGroup: user, fsGroup: user }),
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: program,
          env: variables(env),
          ports: [{ name: 'http', containerPort: port }],
          securityContext: { ...hardening, privileged: false },
        },
      ],
    },
  }
}
