// The calls of the Kubernetes API for Jobs, and for what else explains their state.
import type { V1Job, V1Service } from '@kubernetes/client-node'
import type { ApiCaller } from '../api/api-caller.ts'
import type { Collection } from '../api/kubernetes-api.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'

export type JobsApi = ReturnType<typeof createJobsApi>

export function createJobsApi(caller: ApiCaller, namespace: string) {
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`
  const core = `/api/v1/namespaces/${namespace}`

  return {
    jobs: (labelSelector: string): Collection => ({ path: jobs, labelSelector }),

    /** Events that a Job's pod was refused: the Job itself does not say so. */
    refusals: (): Collection => ({
      path: `${core}/events`,
      fieldSelector: 'involvedObject.kind=Job,reason=FailedCreate',
    }),

    workloads: (): Collection => ({ path: `/apis/kueue.x-k8s.io/v1beta2/namespaces/${namespace}/workloads` }),

    createJob: async (job: V1Job) => (await caller.call({ method: 'POST', path: jobs, body: job })) as KubernetesObject,

    getJob: (name: string, signal?: AbortSignal) => caller.find(`${jobs}/${name}`, signal),

    /** Its pods are deleted first. */
    deleteJob: (name: string, uid: string, signal?: AbortSignal) =>
      caller.remove(`${jobs}/${name}`, { propagationPolicy: 'Foreground', preconditions: { uid } }, signal),

    createService: (body: V1Service) => caller.createUnlessExists(`${core}/services`, body),
  }
}
