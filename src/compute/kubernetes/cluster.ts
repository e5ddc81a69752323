import type { KubernetesApi } from './kubernetes-api.ts'
import type { ClusterView } from './cluster-view.ts'
import type { QueueSettings } from './job-manifest.ts'
import type { PodSettings } from './pod-template.ts'

/** What every verb works with. */
export type Cluster = {
  api: KubernetesApi
  view: ClusterView
  pods: PodSettings
  queue: QueueSettings | null
  imageTimeoutMs: number
  nodeLostAfterMs: number
}
