import type { RunSummary } from '../../run.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { readLabels, selectorOfProgram } from '../pods/labels.ts'
import { holds, readPod } from '../pods/observed-pod.ts'
import { readJob } from './observed-job.ts'
import type { ObservedJob } from './observed-job.ts'
import { readRunState } from './run-state.ts'

/** Reads from the API server, not from the cache: a run that is missing here does not exist. */
export async function listRuns(cluster: TrainerCluster, labels: Record<string, string>): Promise<RunSummary[]> {
  const { api, jobs: jobsApi, cache } = cluster
  const selector = selectorOfProgram('trainer', labels)
  const jobs = await api.list(jobsApi.jobs(selector), readJob)
  const pods = await api.list(api.pods(selector), readPod)
  const podsOf = Map.groupBy(pods.items, ({ ownerUid }) => ownerUid)
  return jobs.items.map((job) => {
    const snapshot = {
      job,
      pods: podsOf.get(job.uid) ?? [],
      gonePods: cache.snapshot(job.runName).gonePods,
      ...cache.aside(job.uid),
    }
    const state = readRunState(snapshot, cluster.limits())
    return {
      name: job.runName,
      uid: job.uid,
      labels: readLabels(job.labels),
      createdAt: new Date(job.createdAtMs),
      state,
    }
  })
}

export async function removeEndedJobs(
  { api, jobs }: TrainerCluster,
  { endedForMs }: { endedForMs: number },
): Promise<string[]> {
  const endedBeforeMs = Date.now() + api.clockAheadMs() - endedForMs
  const { items } = await api.list(jobs.jobs(selectorOfProgram('trainer')), readJob)
  const ended = items.filter((job) => (endedAtMs(job) ?? Infinity) < endedBeforeMs)
  const removed: string[] = []
  for (const { name, runName, uid } of ended) if (await jobs.deleteJob(name, uid)) removed.push(runName)
  return removed
}

function endedAtMs({ conditions, createdAtMs }: ObservedJob): number | null {
  const end = holds(conditions, 'Complete') ?? holds(conditions, 'Failed')
  return end ? (end.atMs ?? createdAtMs) : null
}
