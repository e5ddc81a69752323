// What this worker knows of the cluster: one list-and-watch a kind, shared by all watchers of runs.
import type { JobFacts, KubernetesObject, PodFacts, RefusalFacts, WorkloadFacts } from './facts.ts'
import { readJob, readPod, readRefusal, readWorkload } from './facts.ts'
import { runInformer } from './informer.ts'
import type { Collection, KubernetesApi } from './kubernetes-api.ts'
import { selectorOfProgram } from './labels.ts'
import { createQueueRanking } from './queue-ranking.ts'
import type { RunFacts } from './run-facts.ts'

type RunRecord = { job: JobFacts | null; pods: Map<string, PodFacts>; lastPod: PodFacts | null }

type RunListener = { onChange: () => void; onPod?: (pod: PodFacts) => void }

export type ClusterView = {
  /** Starts with the first use. */
  start(): void
  /** What we hold is the truth, as far as is known. */
  isCurrent(): boolean
  /** Why it cannot be known. */
  trouble(): string | null
  facts(runName: string): RunFacts
  /** What is known of a Job besides itself and its pods. */
  aside(jobUid: string): Pick<RunFacts, 'refusal' | 'workload' | 'place'>
  subscribe(runName: string, listener: RunListener): () => void
  stop(): void
}

/** Some states change by time alone: a place in the queue, an image that does not come, a node that does not answer. */
const lookAgainEveryMs = 5_000
const refusalsKept = 5_000

export function createClusterView(api: KubernetesApi, options: { watchesQueue: boolean }): ClusterView {
  const stopping = new AbortController()
  const runs = new Map<string, RunRecord>()
  const runOfJob = new Map<string, string>()
  const runOfPod = new Map<string, string>()
  const refusals = new Map<string, RefusalFacts>()
  const workloads = new Map<string, WorkloadFacts>()
  const ranking = createQueueRanking(workloads)
  const listeners = new Map<string, Set<RunListener>>()
  const troubles = new Map<string, string>()
  const waitedFor = new Set(['jobs', 'pods'])
  let started = false

  function recordOf(runName: string): RunRecord {
    let record = runs.get(runName)
    if (!record) runs.set(runName, (record = { job: null, pods: new Map(), lastPod: null }))
    return record
  }

  function changed(runName: string | undefined): void {
    if (runName === undefined) return
    const record = runs.get(runName)
    if (record && !record.job && record.pods.size === 0) runs.delete(runName)
    for (const { onChange } of listeners.get(runName) ?? []) onChange()
  }

  function everyone(): void {
    for (const runName of [...listeners.keys()]) changed(runName)
  }

  function onJob(raw: KubernetesObject): void {
    const job = readJob(raw)
    const record = recordOf(job.runName)
    if (record.job && record.job.uid !== job.uid) record.lastPod = null
    record.job = job
    runOfJob.set(job.uid, job.runName)
    changed(job.runName)
  }

  function onJobGone(uid: string): void {
    const runName = runOfJob.get(uid)
    runOfJob.delete(uid)
    refusals.delete(uid)
    const record = runName === undefined ? undefined : runs.get(runName)
    if (record?.job?.uid === uid) record.job = null
    changed(runName)
  }

  function onPod(raw: KubernetesObject): void {
    const pod = readPod(raw)
    recordOf(pod.runName).pods.set(pod.uid, pod)
    runOfPod.set(pod.uid, pod.runName)
    for (const listener of listeners.get(pod.runName) ?? []) listener.onPod?.(pod)
    changed(pod.runName)
  }

  function onPodGone(uid: string, raw: KubernetesObject | null): void {
    const runName = runOfPod.get(uid)
    runOfPod.delete(uid)
    const record = runName === undefined ? undefined : runs.get(runName)
    const last = raw ? readPod(raw) : (record?.pods.get(uid) ?? null)
    record?.pods.delete(uid)
    if (record && last) record.lastPod = last
    if (last) for (const listener of listeners.get(last.runName) ?? []) listener.onPod?.(last)
    changed(runName)
  }

  function onRefusal(raw: KubernetesObject): void {
    const refusal = readRefusal(raw)
    const before = refusals.get(refusal.jobUid)
    if (before && before.atMs > refusal.atMs) return
    refusals.delete(refusal.jobUid)
    refusals.set(refusal.jobUid, refusal)
    const oldest = refusals.keys().next().value
    if (refusals.size > refusalsKept && oldest !== undefined) refusals.delete(oldest)
    changed(runOfJob.get(refusal.jobUid))
  }

  function onWorkload(raw: KubernetesObject): void {
    const workload = readWorkload(raw)
    workloads.set(workload.jobUid, workload)
    ranking.forget()
    changed(runOfJob.get(workload.jobUid))
  }

  function onWorkloadGone(uid: string): void {
    const jobUid = [...workloads.values()].find((each) => each.uid === uid)?.jobUid
    if (jobUid !== undefined) workloads.delete(jobUid)
    ranking.forget()
  }

  function inform(
    name: string,
    collection: Collection,
    on: { object: (raw: KubernetesObject) => void; gone: (uid: string, raw: KubernetesObject | null) => void },
  ): void {
    const isNeeded = waitedFor.has(name)
    void runInformer({
      api,
      collection,
      signal: stopping.signal,
      onObject: on.object,
      onGone: on.gone,
      onTrouble: (message) => {
        if (!isNeeded || (message === (troubles.get(name) ?? null) && !waitedFor.has(name))) return
        if (message === null) {
          troubles.delete(name)
          waitedFor.delete(name)
        } else troubles.set(name, message)
        everyone()
      },
    })
  }

  return {
    start() {
      if (started) return
      started = true
      const ours = selectorOfProgram('trainer')
      inform('jobs', api.collections.jobs(ours), { object: onJob, gone: onJobGone })
      inform('pods', api.collections.pods(ours), { object: onPod, gone: onPodGone })
      // Events are forgotten by the cluster after an hour, by us with their Job.
      inform('refusals', api.collections.refusals(), { object: onRefusal, gone: () => undefined })
      if (options.watchesQueue)
        inform('workloads', api.collections.workloads(), { object: onWorkload, gone: onWorkloadGone })
      const timer = setInterval(everyone, lookAgainEveryMs).unref()
      stopping.signal.addEventListener('abort', () => clearInterval(timer))
    },
    isCurrent: () => troubles.size === 0 && waitedFor.size === 0,
    trouble: () => troubles.values().next().value ?? null,
    facts(runName) {
      const record = runs.get(runName)
      const job = record?.job ?? null
      return {
        job,
        pods: [...(record?.pods.values() ?? [])],
        lastPod: record?.lastPod ?? null,
        ...this.aside(job?.uid ?? ''),
      }
    },
    aside: (jobUid) => ({
      refusal: refusals.get(jobUid) ?? null,
      workload: workloads.get(jobUid) ?? null,
      place: ranking.placeOf(jobUid),
    }),
    subscribe(runName, listener) {
      const set = listeners.get(runName) ?? new Set()
      listeners.set(runName, set.add(listener))
      return () => {
        set.delete(listener)
        if (set.size === 0 && listeners.get(runName) === set) listeners.delete(runName)
      }
    },
    stop: () => stopping.abort(),
  }
}
