import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parse } from './environment.ts'

const PriorityClasses = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(
    z.tuple([z.string().min(1), z.string().min(1), z.string().min(1)], 'must be three names: for low, normal, high'),
  )
  .transform(([low, normal, high]) => ({ low, normal, high }))

/** The cluster itself is found as kubectl finds it: by KUBECONFIG, or the service account of the pod. */
const KubernetesEnvironment = z.object({
  /** Runs live here; the worker may live elsewhere. */
  ANNEAL_KUBERNETES_NAMESPACE: z.string().min(1).default('anneal-runs'),
  /** The name of this installation, in the label app.kubernetes.io/instance of its runs. */
  ANNEAL_KUBERNETES_INSTANCE: z
    .string()
    .regex(/^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/, 'must be the value of a label')
    .default('anneal'),
  /** A file with the platform's settings for the pods of each program. docs/architecture.md has an example. */
  ANNEAL_POD_TEMPLATES: z.string().min(1),
  /** Nodes offer their GPUs under this name. */
  ANNEAL_GPU_RESOURCE: z.string().min(1).default('nvidia.com/gpu'),
  /** Kueue's LocalQueue, and its WorkloadPriorityClasses for the priorities low, normal, high, with commas. */
  ANNEAL_KUEUE_QUEUE: z.string().min(1).optional(),
  ANNEAL_KUEUE_PRIORITY_CLASSES: PriorityClasses.optional(),
  /** These bound the calls of this worker to the API server. */
  ANNEAL_KUBERNETES_QPS: z.coerce.number().positive().default(50),
  ANNEAL_KUBERNETES_BURST: z.coerce.number().int().min(1).default(100),
  /** How long an image may be missing before its attempt fails. */
  ANNEAL_IMAGE_TIMEOUT_SECONDS: z.coerce.number().positive().default(600),
  /**
   * How long beyond its grace period a pod may be silent before its node counts as lost. Kubelets may come back a minute
   * after an API server that was away.
   */
  ANNEAL_NODE_LOST_SECONDS: z.coerce.number().positive().default(120),
  /** Pods of Python graders of all accounts. */
  ANNEAL_GRADER_PODS_TOTAL: z.coerce.number().int().min(1).default(20),
  /** A pod of a Python grader that nobody uses ends after this. */
  ANNEAL_GRADER_IDLE_SECONDS: z.coerce.number().min(30).max(86_400).default(300),
  /** Attempts at once, shared fairly between accounts; left out, the cluster decides. */
  ANNEAL_SLOTS: z.coerce.number().int().min(1).optional(),
})

/** Settings of runs on a cluster; only the worker needs them. */
export function readKubernetesConfig(environment: NodeJS.ProcessEnv = process.env) {
  const env = parse(KubernetesEnvironment, environment)
  const { ANNEAL_KUEUE_QUEUE: queue, ANNEAL_KUEUE_PRIORITY_CLASSES: priorityClasses } = env
  return {
    namespace: env.ANNEAL_KUBERNETES_NAMESPACE,
    templatesText: readFileSync(env.ANNEAL_POD_TEMPLATES, 'utf8'),
    instance: env.ANNEAL_KUBERNETES_INSTANCE,
    gpuResource: env.ANNEAL_GPU_RESOURCE,
    queue: queue === undefined ? null : { queue, ...(priorityClasses && { priorityClasses }) },
    slots: env.ANNEAL_SLOTS ?? null,
    graderPods: {
      total: env.ANNEAL_GRADER_PODS_TOTAL,
      idleMs: env.ANNEAL_GRADER_IDLE_SECONDS * 1000,
    },
    callsPerSecond: env.ANNEAL_KUBERNETES_QPS,
    callBurst: env.ANNEAL_KUBERNETES_BURST,
    imageTimeoutMs: env.ANNEAL_IMAGE_TIMEOUT_SECONDS * 1000,
    nodeLostAfterMs: env.ANNEAL_NODE_LOST_SECONDS * 1000,
  }
}
