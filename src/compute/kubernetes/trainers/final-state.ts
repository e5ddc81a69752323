import { setTimeout as sleep } from 'node:timers/promises'
import { isEndState } from '../../run.ts'
import type { EndState } from '../../run.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import type { ObservedPod } from '../pods/observed-pod.ts'
import { failed } from '../pods/exit-state.ts'
import type { RunSnapshot } from './run-snapshot.ts'
import { readRunState } from './run-state.ts'

export type FinalState = {
  see: (pod: ObservedPod) => void
  /** Resolves when the cache shows nothing of the run, or when the time is over. */
  untilLikelyGone(atMostMs: number, signal?: AbortSignal): Promise<void>
  /** The cluster itself has declared the node lost. */
  isOfLostNode(): boolean
  read(options: { nodeWasLost: boolean }): Promise<EndState>
  dismiss(): void
}

/** How long the cache may lag behind what the API server has confirmed. */
const viewLagMs = 1_000

/** Captures how a run ends while it is deleted: its pods show their exit only until the objects are gone. */
export function captureFinalState(cluster: TrainerCluster, runName: string, before: RunSnapshot): FinalState {
  const pods = new Map(before.pods.map((pod) => [pod.uid, pod]))
  const first = readRunState(before, cluster.limits())
  let wake: (() => void) | null = null
  let hasChanged = false

  function onChange(): void {
    hasChanged = true
    wake?.()
  }
  function see(pod: ObservedPod): void {
    if (!before.job || pod.ownerUid === before.job.uid) pods.set(pod.uid, pod)
  }
  const dismiss = cluster.cache.subscribe(runName, { onChange, onPod: see })

  async function untilChange(atMostMs: number, signal?: AbortSignal): Promise<void> {
    if (!hasChanged) {
      const over = new AbortController()
      const changed = new Promise<void>((resolve) => (wake = resolve))
      const timeout = sleep(Math.max(0, atMostMs), undefined, {
        signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal,
      })
      timeout.catch(() => undefined)
      await Promise.race([changed, timeout]).finally(() => over.abort())
    }
    wake = null
    hasChanged = false
  }

  const podsInView = () => cluster.cache.snapshot(runName).pods.some(({ uid }) => pods.has(uid))

  /** Time stands still here: a pod that is silent now was asked to end by this process. */
  function seen() {
    const hasEnded = ({ phase }: ObservedPod) => phase === 'Succeeded' || phase === 'Failed'
    const inView = new Set(cluster.cache.snapshot(runName).pods.map(({ uid }) => uid))
    const all = [...pods.values()]
    const isGone = (pod: ObservedPod) => all.length > 1 && !hasEnded(pod) && !inView.has(pod.uid)
    const snapshot = { ...before, pods: all.filter((pod) => !isGone(pod)), gonePods: all.filter(isGone) }
    return readRunState(snapshot, { ...cluster.limits(), nowMs: -Infinity })
  }

  return {
    see,
    dismiss,
    async untilLikelyGone(atMostMs, signal) {
      const deadlineMs = performance.now() + atMostMs
      do {
        await untilChange(deadlineMs - performance.now(), signal)
        if (cluster.cache.isCurrent() && !podsInView() && !cluster.cache.snapshot(runName).job) return
      } while (performance.now() < deadlineMs)
    },
    isOfLostNode() {
      const state = seen()
      return state.state === 'failed' && state.reason === 'node_lost'
    },
    async read({ nodeWasLost }) {
      const deadlineMs = performance.now() + viewLagMs
      while (podsInView() && performance.now() < deadlineMs) await untilChange(deadlineMs - performance.now())
      const state = seen()
      if (isEndState(state)) return state
      if (isEndState(first)) return first
      const uid = before.job?.uid ?? before.pods[0]?.ownerUid ?? ''
      return nodeWasLost
        ? failed(uid, null, null, 'node_lost', 'The node of the run stopped answering.')
        : failed(uid, null, null, 'killed', 'The run was stopped, and its exit code was not recorded.')
    },
  }
}
