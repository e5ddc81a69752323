import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { canonicalJson, sha256Hex } from '../../../domain/identifiers.ts'
import type { RunProgram, RunSpec } from '../../run.ts'
import {
  hardening,
  modelsDir,
  resourceFields,
  variables,
  workDir,
  writableMounts,
  writableVolumes,
} from './container-fields.ts'
import { describingLabels, runLabels, specHashAnnotation } from './labels.ts'
import { mergeTemplate } from './merge-template.ts'
import type { JsonObject } from './merge-template.ts'
import { layersFor } from './pod-template-file.ts'
import type { PodTemplates } from './pod-template-file.ts'
import { threadVariables } from '../../thread-variables.ts'

/** `instance` is the name of the installation. */
export type PodSettings = { templates: PodTemplates; gpuResource: string; instance: string }

const modules = { trainer: 'anneal_runtime.trainer', 'model-server': 'anneal_runtime.server' }
const user = 10_001

/** Layers, the stronger ones later: defaults, the platform team's templates, then what makes the pod this run. */
export function podTemplate(
  program: RunProgram,
  spec: RunSpec,
  { templates, gpuResource, instance }: PodSettings,
  { defaults, own }: { defaults: JsonObject; own: JsonObject },
): V1PodTemplateSpec {
  const described = { metadata: { labels: describingLabels(program, instance) } }
  const layers = [described, defaults, ...layersFor(templates, program, spec.model), runFields(program, spec), own]
  return layers.reduce(mergeTemplate, defaultFields(program, spec, gpuResource)) as V1PodTemplateSpec
}

export function specHash(spec: RunSpec): string {
  return sha256Hex(canonicalJson({ ...spec, secretEnv: undefined }))
}

/** Satisfies Pod Security `restricted`, and gives a clean environment. */
function defaultFields(program: RunProgram, { resources }: RunSpec, gpuResource: string): JsonObject {
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
      volumes: writableVolumes(resources),
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
    ...threadVariables,
    ANNEAL_MODELS_DIR: modelsDir,
    ANNEAL_WORK_DIR: workDir,
  })
}

function runFields(program: RunProgram, spec: RunSpec): JsonObject {
  const { name, env, secretEnv, terminationGraceMs } = spec
  return {
    metadata: { labels: runLabels(program, spec), annotations: { [specHashAnnotation]: specHash(spec) } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: Math.max(1, Math.ceil(terminationGraceMs / 1000)),
      containers: [
        {
          name: program,
          env: [
            ...variables(env),
            ...Object.keys(secretEnv).map((key) => ({ name: key, valueFrom: { secretKeyRef: { name, key } } })),
          ],
        },
      ],
    },
  }
}
