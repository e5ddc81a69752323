import type { Cluster } from '../cluster.ts'
import type { QueueSettings } from './job-manifest.ts'
import type { JobsApi } from './jobs-api.ts'
import type { TrainerCache } from './trainer-cache.ts'

/** What the verbs for trainers work with. */
export type TrainerCluster = Cluster & { jobs: JobsApi; cache: TrainerCache; queue: QueueSettings | null }
