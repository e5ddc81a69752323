import type { KubernetesApi } from './api/kubernetes-api.ts'
import type { TrainerCache } from './trainers/trainer-cache.ts'
import type { QueueSettings } from './trainers/job-manifest.ts'
import type { PodSettings } from './pods/pod-template.ts'

/** What every verb works with. */
export type Cluster = {
  api: KubernetesApi
  cache: TrainerCache
  pods: PodSettings
  queue: QueueSettings | null
  imageTimeoutMs: number
  nodeLostAfterMs: number
}
