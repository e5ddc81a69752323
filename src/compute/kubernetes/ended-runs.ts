import { setTimeout as sleep } from 'node:timers/promises'
import type { RunRef, RunSummary } from '../compute.ts'
import { isEndState } from '../end-state.ts'
import { ComputeError } from '../errors.ts'
import type { Cluster } from './cluster.ts'
import { holds, readJob, readPod } from './facts.ts'
import type { JobFacts } from './facts.ts'
import { readLabels, selectorOfProgram } from './labels.ts'
import { limitsOf, readLiveFacts } from './live-facts.ts'
import { readRunState } from './run-state.ts'

const discardPatienceMs = 30_000

/** Read from the API server, not from memory: what is not here is not there. */
export async function listRuns(cluster: Cluster, labels: Record<string, string>): Promise<RunSummary[]> {
  const { api, view } = cluster
  const selector = selectorOfProgram('trainer', labels)
  const jobs = await api.list(api.collections.jobs(selector), readJob)
  const pods = await api.list(api.collections.pods(selector), readPod)
  const podsOf = Map.groupBy(pods.items, ({ ownerUid }) => ownerUid)
  return jobs.items.map((job) => {
    const facts = {
      job,
      pods: podsOf.get(job.uid) ?? [],
      gonePods: view.facts(job.runName).gonePods,
      ...view.aside(job.uid),
    }
    const state = readRunState(facts, limitsOf(cluster))
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

/** Only what has ended; resolves once its name is free. */
export async function discardJob(
  cluster: Cluster,
  run: Required<Pick<RunRef, 'name'>> & { uid: string },
): Promise<void> {
  const signal = AbortSignal.timeout(discardPatienceMs)
  let isAsked = false
  for (;;) {
    const facts = await readLiveFacts(cluster, run, signal)
    if (!facts.job || !isEndState(readRunState(facts, limitsOf(cluster)))) return
    if (!isAsked) await cluster.api.deleteJob(facts.job.name, facts.job.uid, signal)
    isAsked = true
    await sleep(200, undefined, { signal }).catch((error: unknown) => {
      throw new ComputeError('unavailable', `${run.name} is still being removed.`, { cause: error })
    })
  }
}

function endedAtMs({ conditions, createdAtMs }: JobFacts): number | null {
  const end = holds(conditions, 'Complete') ?? holds(conditions, 'Failed')
  return end ? (end.atMs ?? createdAtMs) : null
}
