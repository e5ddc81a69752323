import type { RunSummary } from '../../compute.ts'
import type { Cluster } from '../cluster.ts'
import { holds, readJob, readPod } from '../pods/observed-objects.ts'
import type { ObservedJob } from '../pods/observed-objects.ts'
import { readLabels, selectorOfProgram } from '../pods/labels.ts'
import { limitsOf } from './read-snapshot.ts'
import { readRunState } from './run-state.ts'

/** Read from the API server, not from memory: what is not here is not there. */
export async function listRuns(cluster: Cluster, labels: Record<string, string>): Promise<RunSummary[]> {
  const { api, cache } = cluster
  const selector = selectorOfProgram('trainer', labels)
  const jobs = await api.list(api.collections.jobs(selector), readJob)
  const pods = await api.list(api.collections.pods(selector), readPod)
  const podsOf = Map.groupBy(pods.items, ({ ownerUid }) => ownerUid)
  return jobs.items.map((job) => {
    const snapshot = {
      job,
      pods: podsOf.get(job.uid) ?? [],
      gonePods: cache.snapshot(job.runName).gonePods,
      ...cache.aside(job.uid),
    }
    const state = readRunState(snapshot, limitsOf(cluster))
    return {
      name: job.runName,
      uid: job.uid,
      labels: readLabels(job.labels),
      createdAt: new Date(job.createdAtMs),
      state,
    }
  })
}

export async function removeEndedJobs({ api }: Cluster, { endedForMs }: { endedForMs: number }): Promise<string[]> {
  const endedBeforeMs = Date.now() + api.clockAheadMs() - endedForMs
  const { items } = await api.list(api.collections.jobs(selectorOfProgram('trainer')), readJob)
  const ended = items.filter((job) => (endedAtMs(job) ?? Infinity) < endedBeforeMs)
  const removed: string[] = []
  for (const { name, runName, uid } of ended) if (await api.deleteJob(name, uid)) removed.push(runName)
  return removed
}

function endedAtMs({ conditions, createdAtMs }: ObservedJob): number | null {
  const end = holds(conditions, 'Complete') ?? holds(conditions, 'Failed')
  return end ? (end.atMs ?? createdAtMs) : null
}
