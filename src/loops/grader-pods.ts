import { sha256Hex } from '../domain/identifiers.ts'
import type { GraderPodCompute, ObservedGraderPod } from '../domain/grader-pods.ts'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { GrantedPod } from '../repositories/grader-pods.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Loop } from './run-loop.ts'

const whileStartingMs = 500
const whileUsedMs = 5000
/** Finds pods that outlived their row. */
const sweepMs = 60_000

type Options = {
  database: { graderPods: Pick<Database['graderPods'], 'setPlace'>; transaction: Database['transaction'] }
  notifications: Pick<Notifications, 'on'>
  pods: GraderPodCompute
  tokenOf: (name: string) => string
  bounds: { ofAccount: number; total: number; idleMs: number }
  log: Pick<Log, 'warn'>
}

/**
 * Keeps the pods of Python graders as the table wants them. Any number of workers may run: a name is one pod, and a pod is
 * removed by its uid.
 */
export const graderPods = ({ database, notifications, pods, tokenOf, bounds, log }: Options): Loop => {
  async function launch(pod: GrantedPod): Promise<GrantedPod> {
    const { name, accountId, imageTag } = pod
    const tokenSha256 = sha256Hex(tokenOf(name))
    const waits = (message: string, isRefused = false) => ({ ...pod, address: null, message, isRefused })
    try {
      // The table ends the pod first: this is for when no worker is there.
      const refusal = await pods.launch({ name, accountId, imageTag, tokenSha256, idleMs: 2 * bounds.idleMs })
      return refusal === null ? waits('The pod of this grader is being created.') : waits(refusal, true)
    } catch (error) {
      log.warn({ err: error, name }, 'failed to start the pod of a Python grader')
      return waits('The cluster starts no pod for this grader at the moment.')
    }
  }

  /** One that cannot be removed now keeps no other one from its start. */
  async function remove(pod: ObservedGraderPod, signal: AbortSignal) {
    try {
      await pods.remove(pod, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ err: error, name: pod.name }, 'failed to remove the pod of a Python grader')
    }
  }

  function place(pod: GrantedPod, found: ObservedGraderPod | undefined): GrantedPod | Promise<GrantedPod> {
    if (!found) return launch(pod)
    const { state } = found
    if (state.is === 'ready') return { ...pod, address: state.address, message: null, isRefused: false }
    const message = state.is === 'waiting' ? state.message : 'The last pod of this grader is being removed.'
    return { ...pod, address: null, message, isRefused: false }
  }

  return {
    name: 'grader pods',
    subscribe: (wake) => notifications.on('grader_pods', wake),
    async pass(signal) {
      // Before the table is read: a pod without a row has lost it, and none is being started for a row that is not seen.
      const found = await pods.list(signal)
      const { granted, waiting } = await database.transaction((tx) => tx.graderPods.grant(bounds))
      const wanted = new Set(granted.map(({ name }) => name))
      for (const pod of found) if (pod.state.is === 'over' || !wanted.has(pod.name)) await remove(pod, signal)
      let isStarting = waiting > 0
      for (const pod of granted) {
        const now = await place(
          pod,
          found.find(({ name }) => name === pod.name),
        )
        isStarting ||= now.address === null && !now.isRefused
        if (now.address !== pod.address || now.message !== pod.message || now.isRefused !== pod.isRefused)
          await database.graderPods.setPlace(pod.name, now)
      }
      if (isStarting) return whileStartingMs
      return granted.length + found.length > 0 ? whileUsedMs : sweepMs
    },
  }
}
