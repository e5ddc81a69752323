// Ends a run, follows its log to the last line, and returns once the API server confirms that nothing is left.
import type { RunRef } from '../../run.ts'
import type { TerminateOptions, Terminated } from '../../trainers.ts'
import { isSilent } from '../pods/limits.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { captureFinalState } from './final-state.ts'
import type { FinalState } from './final-state.ts'
import { readLiveSnapshot, readSnapshot } from './read-snapshot.ts'
import { followLogTail } from './logs.ts'
import type { LogTail } from './logs.ts'
import type { RunSnapshot } from './run-snapshot.ts'

const firstCheckMs = 1_000
const maxCheckMs = 10_000

export async function terminateJob(
  cluster: TrainerCluster,
  run: RunRef,
  options: TerminateOptions,
): Promise<Terminated> {
  // This snapshot may be old: the reads that confirm the end see what has changed since.
  const snapshot = await readSnapshot(cluster, run, options.signal)
  if (!snapshot.job && snapshot.pods.length === 0) return { end: { state: 'gone' }, logTail: null }
  cluster.cache.start()
  const last = captureFinalState(cluster, run.name, snapshot)
  try {
    const log = followLogTail(cluster, snapshot, options.logTailBytes ?? 0)
    await remove(cluster, run, snapshot, log, options)
    const nodeWasLost = await untilGone(cluster, run, snapshot, options, last)
    return { end: await last.read({ nodeWasLost }), logTail: await log.end() }
  } finally {
    last.dismiss()
  }
}

async function remove(
  { api, jobs }: TrainerCluster,
  run: RunRef,
  snapshot: RunSnapshot,
  log: LogTail,
  options: TerminateOptions,
) {
  const { job, pods } = snapshot
  const { graceMs, signal } = options
  if (job) await jobs.deleteJob(job.name, job.uid, signal)
  await log.ready
  // Deleted here, because garbage collection is slow and knows only the pod's own grace.
  await Promise.all(pods.map((pod) => api.deletePod(pod.name, pod.uid, graceMs, signal)))
  if (job) await api.deleteSecret(run.name, signal)
}

/** @returns whether a node was lost meanwhile */
async function untilGone(
  cluster: TrainerCluster,
  run: RunRef,
  before: RunSnapshot,
  { graceMs, fence, signal }: TerminateOptions,
  last: FinalState,
): Promise<boolean> {
  const ref = { name: run.name, uid: run.uid ?? before.job?.uid }
  let isFenced = false
  for (let waitMs = firstCheckMs; ; waitMs = Math.min(waitMs * 2, maxCheckMs)) {
    await last.untilLikelyGone(waitMs, signal)
    const snapshot = await readLiveSnapshot(cluster, ref, signal)
    snapshot.pods.forEach((pod) => last.see(pod))
    const limits = cluster.limits()
    const silent = snapshot.pods.filter((pod) => isSilent(pod, limits))
    const wasFenced = isFenced
    if (fence && !isFenced && (silent.length > 0 || last.isOfLostNode())) {
      await fence()
      isFenced = true
    }
    if (!snapshot.job && snapshot.pods.length === 0) return isFenced
    // These pods appeared after the first snapshot.
    const unasked = snapshot.pods.filter(({ deleteByMs }) => deleteByMs === null)
    await Promise.all(unasked.map((pod) => cluster.api.deletePod(pod.name, pod.uid, graceMs, signal)))
    // A round after the fence: until then a living program can still reach the API, learn of the fence and end.
    if (wasFenced) await Promise.all(silent.map((pod) => cluster.api.declarePodDead(pod.name, pod.uid, signal)))
  }
}
