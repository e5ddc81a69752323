// Every training run's objects in memory: one list-and-watch of each kind, shared by all watchers.
import type { KubernetesApi } from '../api/kubernetes-api.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'
import { createInformers } from '../watch/informers.ts'
import { selectorOfProgram } from '../pods/labels.ts'
import { readPod } from '../pods/observed-pod.ts'
import type { ObservedPod } from '../pods/observed-pod.ts'
import type { JobsApi } from './jobs-api.ts'
import { readJob, readRefusal, readWorkload } from './observed-job.ts'
import type { ObservedJob, ObservedWorkload, PodRefusal } from './observed-job.ts'
import { createQueueRanking } from './queue-ranking.ts'
import type { RunSnapshot } from './run-snapshot.ts'
import { createSubscriptions } from '../watch/subscriptions.ts'

type RunRecord = { job: ObservedJob | null; pods: Map<string, ObservedPod>; gonePods: ObservedPod[] }

export type TrainerCache = ReturnType<typeof createTrainerCache>

const maxRefusals = 5_000
/** Per run; more than it has nodes. */
const maxGonePods = 64

export function createTrainerCache(api: KubernetesApi, jobsApi: JobsApi, options: { watchesQueue: boolean }) {
  const runs = new Map<string, RunRecord>()
  const runOfJob = new Map<string, string>()
  const runOfPod = new Map<string, string>()
  const refusals = new Map<string, PodRefusal>()
  const workloads = new Map<string, ObservedWorkload>()
  const jobOfWorkload = new Map<string, string>()
  const ranking = createQueueRanking(workloads)
  const { of: listenersOf, runNames, subscribe } = createSubscriptions()
  const ours = selectorOfProgram('trainer')
  const collections = createInformers(
    api,
    [
      { collection: jobsApi.jobs(ours), isNeeded: true, onObject: onJob, onGone: onJobGone },
      { collection: api.pods(ours), isNeeded: true, onObject: onPod, onGone: onPodGone },
      // The cluster deletes events after an hour; the cache drops them with their Job.
      { collection: jobsApi.refusals(), isNeeded: false, onObject: onRefusal, onGone: () => undefined },
      ...(options.watchesQueue
        ? [{ collection: jobsApi.workloads(), isNeeded: false, onObject: onWorkload, onGone: onWorkloadGone }]
        : []),
    ],
    () => runNames().forEach(changed),
  )

  function recordOf(runName: string): RunRecord {
    let record = runs.get(runName)
    if (!record) runs.set(runName, (record = { job: null, pods: new Map(), gonePods: [] }))
    return record
  }

  function changed(runName: string | undefined): void {
    if (runName === undefined) return
    const record = runs.get(runName)
    if (record && !record.job && record.pods.size === 0) runs.delete(runName)
    for (const { onChange } of listenersOf(runName)) onChange()
  }

  function onJob(raw: KubernetesObject): void {
    const job = readJob(raw)
    const record = recordOf(job.runName)
    if (record.job && record.job.uid !== job.uid) record.gonePods = []
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
    for (const listener of listenersOf(pod.runName)) listener.onPod?.(pod)
    changed(pod.runName)
  }

  function onPodGone(uid: string, raw: KubernetesObject | null): void {
    const runName = runOfPod.get(uid)
    runOfPod.delete(uid)
    const record = runName === undefined ? undefined : runs.get(runName)
    const last = raw ? readPod(raw) : (record?.pods.get(uid) ?? null)
    record?.pods.delete(uid)
    if (record && last) record.gonePods = [...record.gonePods, last].slice(-maxGonePods)
    if (last) for (const listener of listenersOf(last.runName)) listener.onPod?.(last)
    changed(runName)
  }

  function onRefusal(raw: KubernetesObject): void {
    const refusal = readRefusal(raw)
    const before = refusals.get(refusal.jobUid)
    if (before && before.atMs > refusal.atMs) return
    refusals.delete(refusal.jobUid)
    refusals.set(refusal.jobUid, refusal)
    const oldest = refusals.keys().next().value
    if (refusals.size > maxRefusals && oldest !== undefined) refusals.delete(oldest)
    changed(runOfJob.get(refusal.jobUid))
  }

  function onWorkload(raw: KubernetesObject): void {
    const workload = readWorkload(raw)
    workloads.set(workload.jobUid, workload)
    jobOfWorkload.set(workload.uid, workload.jobUid)
    ranking.forget()
    changed(runOfJob.get(workload.jobUid))
  }

  function onWorkloadGone(uid: string): void {
    const jobUid = jobOfWorkload.get(uid) ?? ''
    jobOfWorkload.delete(uid)
    // Kueue may have created a new one meanwhile.
    if (workloads.get(jobUid)?.uid === uid) workloads.delete(jobUid)
    ranking.forget()
  }

  /** Facts from other objects that explain a Job's state. */
  const aside = (jobUid: string): Pick<RunSnapshot, 'refusal' | 'workload' | 'place'> => ({
    refusal: refusals.get(jobUid) ?? null,
    workload: workloads.get(jobUid) ?? null,
    place: ranking.placeOf(jobUid),
  })

  return {
    ...collections,
    subscribe,
    aside,
    snapshot(runName: string): RunSnapshot {
      const record = runs.get(runName)
      const job = record?.job ?? null
      return {
        job,
        pods: [...(record?.pods.values() ?? [])],
        gonePods: record?.gonePods ?? [],
        ...aside(job?.uid ?? ''),
      }
    },
  }
}
