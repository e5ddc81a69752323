import type { Cluster } from '../cluster.ts'
import type { QueueSettings } from './job-manifest.ts'
import type { JobsApi } from './jobs-api.ts'
import type { TrainerCache } from './trainer-cache.ts'

/** The dependencies of the verbs for trainers. */
export type TrainerCluster = Cluster & { jobs: JobsApi; cache: TrainerCache; queue: QueueSettings | null }
