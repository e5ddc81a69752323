// Objects that the doctor reads: from the API server, or from a list that an administrator hands over where the worker's
// rights do not reach.
import type { ApiCaller } from '../api/api-caller.ts'
import { hasStatus } from '../api/api-error.ts'

type Condition = { type: string; status: string; message?: string }
type Named = { kind?: string; metadata?: { name?: string; namespace?: string } }
export type LocalQueue = Named & { spec?: { clusterQueue?: string }; status?: { conditions?: Condition[] } }
type Quota = { name?: string; nominalQuota?: unknown; borrowingLimit?: unknown; lendingLimit?: unknown }
export type ResourceGroup = { coveredResources?: string[]; flavors?: { name?: string; resources?: Quota[] }[] }
export type ClusterQueue = Named & {
  spec?: { cohortName?: string; resourceGroups?: ResourceGroup[] }
  status?: { conditions?: Condition[] }
}
export type Cohort = Named & { spec?: { parentName?: string; resourceGroups?: ResourceGroup[] } }
export type Node = Named & { status?: { allocatable?: Record<string, string> } }

type Listed = { items?: Named[] }

/** The worker may not read them: an administrator may. */
export class NotReadable extends Error {}

const kueue = '/apis/kueue.x-k8s.io/v1beta2'

/** @param given what `kubectl get … -o json` prints, or null @throws Error when that is no list of objects */
export function createObjectReader(caller: ApiCaller, given: unknown) {
  const items = given === null ? null : itemsOf(given)

  async function list<T extends Named>(kind: string, path: string): Promise<T[]> {
    if (items) return items.filter((item) => item.kind === kind) as T[]
    try {
      return ((await caller.call({ method: 'GET', path })) as Listed).items as T[]
    } catch (error) {
      if (hasStatus(error, 403)) throw new NotReadable()
      // Kueue is not installed.
      if (hasStatus(error, 404)) return []
      throw error
    }
  }

  return {
    localQueues: async (namespace: string) =>
      (await list<LocalQueue>('LocalQueue', `${kueue}/namespaces/${namespace}/localqueues`)).filter(
        ({ metadata }) => metadata?.namespace === namespace,
      ),
    clusterQueues: () => list<ClusterQueue>('ClusterQueue', `${kueue}/clusterqueues`),
    cohorts: () => list<Cohort>('Cohort', `${kueue}/cohorts`),
    priorityClasses: () => list('WorkloadPriorityClass', `${kueue}/workloadpriorityclasses`),
    nodes: () => list<Node>('Node', '/api/v1/nodes'),
  }
}

export type ObjectReader = ReturnType<typeof createObjectReader>

function itemsOf(given: unknown): Named[] {
  const { items } = (given ?? {}) as Listed
  if (!Array.isArray(items)) throw new Error('--objects takes what `kubectl get … -o json` prints: a list of objects.')
  return items
}
