import type { Cluster } from '../cluster.ts'
import type { DeploymentsApi } from './deployments-api.ts'
import type { ModelServerCache } from './model-server-cache.ts'

/** What the verbs for model servers work with. */
export type ModelServerCluster = Cluster & { deployments: DeploymentsApi; cache: ModelServerCache }
