// The end of a run: asked for, followed to its last line, and proven by the API server.
import type { RunRef, TerminateOptions, Terminated } from '../../compute.ts'
import type { Cluster } from '../cluster.ts'
import { captureFinalState } from './final-state.ts'
import type { FinalState } from './final-state.ts'
import { limitsOf, readSnapshot, readLiveSnapshot } from './read-snapshot.ts'
import { followLogTail } from './logs.ts'
import type { LogTail } from './logs.ts'
import { isSilent } from './run-snapshot.ts'
import type { RunSnapshot } from './run-snapshot.ts'

const firstCheckMs = 1_000
const maxCheckMs = 10_000

export async function terminateJob(cluster: Cluster, run: RunRef, options: TerminateOptions): Promise<Terminated> {
  // What has changed since is seen by the looks that prove it gone.
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

async function remove({ api }: Cluster, run: RunRef, snapshot: RunSnapshot, log: LogTail, options: TerminateOptions) {
  const { job, pods } = snapshot
  const { graceMs, signal } = options
  if (job) await api.deleteJob(job.name, job.uid, signal)
  await log.ready
  // Not left to the collector of garbage, which takes its time and knows no grace but the pod's own.
  await Promise.all(pods.map((pod) => api.deletePod(pod.name, pod.uid, graceMs, signal)))
  if (job) await api.deleteSecret(run.name, signal)
}

/** @returns whether a node was lost on the way */
async function untilGone(
  cluster: Cluster,
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
    const limits = limitsOf(cluster)
    const silent = snapshot.pods.filter((pod) => isSilent(pod, limits))
    const wasFenced = isFenced
    if (fence && !isFenced && (silent.length > 0 || last.isOfLostNode())) {
      await fence()
      isFenced = true
    }
    if (!snapshot.job && snapshot.pods.length === 0) return isFenced
    // Appeared after we looked first.
    const unasked = snapshot.pods.filter(({ deleteByMs }) => deleteByMs === null)
    await Promise.all(unasked.map((pod) => cluster.api.deletePod(pod.name, pod.uid, graceMs, signal)))
    // Only a while after the fence: what still runs there asks, hears of it and ends, as long as the network knows its pod.
    if (wasFenced) await Promise.all(silent.map((pod) => cluster.api.declarePodDead(pod.name, pod.uid, signal)))
  }
}
