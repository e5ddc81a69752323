// Starts, lists and removes pods of Python graders with the rights that the worker has for its check of admission.
import type { GraderPodCompute, GraderPodState, ObservedGraderPod } from '../../../domain/grader-pods.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'
import { retryable, type Cluster } from '../cluster.ts'
import { selectorOfProgram } from '../pods/labels.ts'
import { isSilent, type Limits } from '../pods/limits.ts'
import { holds, readPod } from '../pods/observed-pod.ts'
import { readPodPending } from '../pods/pending-reason.ts'
import { graderPodManifest, program } from './pod-manifest.ts'

const graceMs = 1000

export function createKubernetesGraderPods({ api, pods, limits }: Cluster): GraderPodCompute {
  /** Pods that no longer answer their node. */
  const silent = new Set<string>()

  function observe(raw: KubernetesObject): ObservedGraderPod {
    const { name, uid } = readPod(raw)
    if (isSilent(readPod(raw), limits())) silent.add(uid)
    return { name, uid, state: readState(raw, limits()) }
  }

  return {
    async launch(spec) {
      const pod = graderPodManifest(spec, pods)
      if (!pod) return `This installation has no image for Python graders with image_tag ${spec.imageTag}.`
      await retryable(() => api.createPod(pod))
      return null
    },

    list: (signal) =>
      retryable(async () => {
        silent.clear()
        return (await api.list(api.pods(selectorOfProgram(program)), observe, signal)).items
      }),

    remove: ({ name, uid }, signal) =>
      retryable(async () => {
        // A grader writes nothing, so a second one beside it does no harm.
        if (silent.has(uid)) await api.declarePodDead(name, uid, signal)
        else await api.deletePod(name, uid, graceMs, signal)
      }),
  }
}

function readState(raw: KubernetesObject, limits: Limits): GraderPodState {
  const pod = readPod(raw)
  const address = raw.status?.podIP
  if (pod.deleteByMs !== null || ['Succeeded', 'Failed'].includes(pod.phase)) return { is: 'over' }
  if (address !== undefined && holds(pod.conditions, 'Ready')) return { is: 'ready', address }
  return { is: 'waiting', message: readPodPending(pod.uid, pod, limits).message }
}
