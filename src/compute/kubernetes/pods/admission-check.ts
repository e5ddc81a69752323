// The cluster accepts a Job even if it will never admit the pods of the Job. So a pod is created as a dry run first.
import type { V1PodTemplateSpec } from '@kubernetes/client-node'
import { canonicalJson, sha256Hex } from '../../../domain/identifiers.ts'
import { ComputeError } from '../../errors.ts'
import { hasStatus } from '../api/api-error.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'

const trustedForMs = 10 * 60_000
const remembered = 200

/** @returns a check that throws ComputeError `invalid` with the API server's sentence */
export function createAdmissionCheck(api: Pick<KubernetesApi, 'tryPod'>) {
  const admittedAt = new Map<string, number>()
  return async (template: V1PodTemplateSpec): Promise<void> => {
    const key = shapeOf(template)
    if (performance.now() - (admittedAt.get(key) ?? -Infinity) < trustedForMs) return
    try {
      await api.tryPod(template)
    } catch (error) {
      judge(error)
    }
    admittedAt.delete(key)
    admittedAt.set(key, performance.now())
    const oldest = admittedAt.keys().next().value
    if (admittedAt.size > remembered && oldest !== undefined) admittedAt.delete(oldest)
  }
}

function judge(error: unknown): void {
  if (!hasStatus(error, 400, 403, 422)) throw error
  const { message } = error
  // A used-up quota is no error: the run waits for it.
  if (message.includes('exceeded quota')) return
  // The worker's rights or the namespace are missing. Their set-up may still be under way.
  if (/cannot create resource|error looking up service account|is being terminated/.test(message))
    throw new ComputeError('unavailable', message, { cause: error })
  const sentence = message.replaceAll(/pods? "anneal-check-[a-z0-9]*"/g, 'the pod')
  throw new ComputeError('invalid', `The cluster would refuse the run's pod: ${sentence}`, { cause: error })
}

/** Pods that differ only in names, labels and values of variables get the same answer. */
function shapeOf({ metadata, spec }: V1PodTemplateSpec): string {
  const shape = structuredClone({ annotations: Object.keys(metadata?.annotations ?? {}), spec })
  for (const container of shape.spec?.containers ?? [])
    container.env = container.env?.map(({ name }) => ({ name })) ?? []
  return sha256Hex(canonicalJson(shape))
}
