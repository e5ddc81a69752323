import type { Cluster } from '../cluster.ts'
import type { DeploymentsApi } from './deployments-api.ts'
import type { ModelServerCache } from './model-server-cache.ts'

/** The dependencies of the verbs for model servers. */
export type ModelServerCluster = Cluster & { deployments: DeploymentsApi; cache: ModelServerCache }
