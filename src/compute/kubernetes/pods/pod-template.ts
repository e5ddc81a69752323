import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { canonicalJson, sha256Hex } from '../../../domain/identifiers.ts'
import type { RunSpec } from '../../compute.ts'
import { hardening, modelsDir, resourceFields, variables, workDir, writableMounts } from './container-fields.ts'
import { runLabels, specHashAnnotation } from './labels.ts'
import { mergeTemplate } from './merge-template.ts'
import type { JsonObject } from './merge-template.ts'
import { gpusFields, nodesFields } from '../trainers/multi-node.ts'
import { layersFor } from './pod-template-file.ts'
import type { PodTemplates } from './pod-template-file.ts'

export type PodSettings = { templates: PodTemplates; gpuResource: string }

const modules = { trainer: 'anneal_runtime.trainer', 'model-server': 'anneal_runtime.server' }
const user = 10_001
export const modelServerPort = 8000

/** Our defaults, over them what the platform team says, over that what makes it this run. */
export function podTemplate(spec: RunSpec, { templates, gpuResource }: PodSettings): V1PodTemplateSpec {
  const layers = [
    gpusFields(spec),
    ...layersFor(templates, spec.program, spec.model),
    runFields(spec),
    nodesFields(spec),
  ]
  return layers.reduce(mergeTemplate, defaultFields(spec, gpuResource)) as V1PodTemplateSpec
}

export function specHash(spec: RunSpec): string {
  return sha256Hex(canonicalJson({ ...spec, secretEnv: undefined }))
}

/** As Pod Security `restricted` wants it, and a clean environment. */
function defaultFields({ program, resources }: RunSpec, gpuResource: string): JsonObject {
  return {
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: user,
        runAsGroup: user,
        fsGroup: user,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: program,
          command: ['python3', '-m', modules[program]],
          env: defaultEnvironment(resources.cpuCount),
          resources: resourceFields(resources, gpuResource),
          securityContext: hardening,
          volumeMounts: writableMounts,
        },
      ],
      volumes: [
        { name: 'work', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  }
}

function defaultEnvironment(cpuCount: number): JsonObject[] {
  return variables({
    LANG: 'C.UTF-8',
    HOME: workDir,
    TMPDIR: '/tmp',
    PYTHONUNBUFFERED: '1',
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(cpuCount))),
    OMP_WAIT_POLICY: 'passive',
    TOKENIZERS_PARALLELISM: 'false',
    ANNEAL_MODELS_DIR: modelsDir,
    ANNEAL_WORK_DIR: workDir,
  })
}

function runFields(spec: RunSpec): JsonObject {
  const { name, program, env, secretEnv, terminationGraceMs } = spec
  return {
    metadata: { labels: runLabels(spec), annotations: { [specHashAnnotation]: specHash(spec) } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: Math.max(1, Math.ceil(terminationGraceMs / 1000)),
      containers: [
        {
          name: program,
          env: [
            ...(program === 'model-server' ? serverAddress() : []),
            ...variables(env),
            ...Object.keys(secretEnv).map((key) => ({ name: key, valueFrom: { secretKeyRef: { name, key } } })),
          ],
        },
      ],
    },
  }
}

function serverAddress(): JsonObject[] {
  return [
    { name: 'ANNEAL_ADVERTISE_HOST', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ...variables({ ANNEAL_BIND_HOST: '0.0.0.0', ANNEAL_PORT: String(modelServerPort) }),
  ]
}
