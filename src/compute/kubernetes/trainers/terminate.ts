// The end of a run: asked for, followed to its last line, and proven by the API server.
import type { RunRef, TerminateOptions, Terminated } from '../../compute.ts'
import type { Cluster } from '../cluster.ts'
import { catchLastState } from './final-state.ts'
import type { LastState } from './final-state.ts'
import { limitsOf, readFacts, readLiveFacts } from './read-snapshot.ts'
import { followLogTail } from './logs.ts'
import type { LogTail } from './logs.ts'
import { isSilent } from './run-snapshot.ts'
import type { RunFacts } from './run-snapshot.ts'

const firstLookMs = 1_000
const slowestLookMs = 10_000

export async function terminateJob(cluster: Cluster, run: RunRef, options: TerminateOptions): Promise<Terminated> {
  // What has changed since is seen by the looks that prove it gone.
  const facts = await readFacts(cluster, run, options.signal)
  if (!facts.job && facts.pods.length === 0) return { end: { state: 'gone' }, logTail: null }
  cluster.view.start()
  const last = catchLastState(cluster, run.name, facts)
  try {
    const log = followLogTail(cluster, facts, options.logTailBytes ?? 0)
    await remove(cluster, run, facts, log, options)
    const nodeWasLost = await untilGone(cluster, run, facts, options, last)
    return { end: await last.read({ nodeWasLost }), logTail: await log.end() }
  } finally {
    last.dismiss()
  }
}

async function remove({ api }: Cluster, run: RunRef, facts: RunFacts, log: LogTail, options: TerminateOptions) {
  const { job, pods } = facts
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
  before: RunFacts,
  { graceMs, fence, signal }: TerminateOptions,
  last: LastState,
): Promise<boolean> {
  const ref = { name: run.name, uid: run.uid ?? before.job?.uid }
  let isFenced = false
  for (let waitMs = firstLookMs; ; waitMs = Math.min(waitMs * 2, slowestLookMs)) {
    await last.untilLikelyGone(waitMs, signal)
    const facts = await readLiveFacts(cluster, ref, signal)
    facts.pods.forEach((pod) => last.see(pod))
    const limits = limitsOf(cluster)
    const silent = facts.pods.filter((pod) => isSilent(pod, limits))
    const wasFenced = isFenced
    if (fence && !isFenced && (silent.length > 0 || last.isOfLostNode())) {
      await fence()
      isFenced = true
    }
    if (!facts.job && facts.pods.length === 0) return isFenced
    // Appeared after we looked first.
    const unasked = facts.pods.filter(({ deleteByMs }) => deleteByMs === null)
    await Promise.all(unasked.map((pod) => cluster.api.deletePod(pod.name, pod.uid, graceMs, signal)))
    // Only a while after the fence: what still runs there asks, hears of it and ends, as long as the network knows its pod.
    if (wasFenced) await Promise.all(silent.map((pod) => cluster.api.declarePodDead(pod.name, pod.uid, signal)))
  }
}
