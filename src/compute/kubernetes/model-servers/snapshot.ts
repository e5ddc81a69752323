// The fields of a model server's objects that the cache keeps.
import type { KubernetesObject } from '../api/kubernetes-object.ts'
import { readPod } from '../pods/observed-pod.ts'
import type { ObservedOwner, ObservedPod } from '../pods/observed-pod.ts'
import { componentLabel } from '../pods/labels.ts'

export type ContainerEnd = { exitCode: number; signal: number; reason: string; message: string; atMs: number }

/** A pod with the earlier ends of its containers, which the cluster restarts in place. */
export type ObservedReplica = ObservedPod & {
  /** All of its containers run. */
  isRunning: boolean
  /** The name of the program's container, or of the engine's while the engine is down. The next two fields describe it. */
  container: string
  restarts: number
  /** Null if the container never ended. */
  lastEnd: ContainerEnd | null
}

export type ModelServerSnapshot = { deployment: ObservedOwner | null; replicas: ObservedReplica[] }

type RawEnd = { exitCode: number; signal?: number; reason?: string; message?: string; finishedAt?: string }
type RawStatus = {
  name: string
  restartCount?: number
  state?: { running?: object; terminated?: RawEnd }
  lastState?: { terminated?: RawEnd }
}

export function readReplica(raw: KubernetesObject): ObservedReplica {
  const statuses = (raw.status?.containerStatuses ?? []) as RawStatus[]
  const component = raw.metadata?.labels?.[componentLabel] ?? ''
  const main = statuses.find(({ name }) => name === component)
  const down = statuses.find(({ state, lastState }) => !state?.running && (state?.terminated ?? lastState?.terminated))
  const chosen = down ?? main
  const end = chosen?.state?.terminated ?? chosen?.lastState?.terminated
  return {
    ...readPod(raw),
    isRunning: statuses.length > 0 && statuses.every(({ state }) => state?.running !== undefined),
    container: chosen?.name ?? component,
    restarts: chosen?.restartCount ?? 0,
    lastEnd: end ? readEnd(end) : null,
  }
}

function readEnd({ exitCode, signal = 0, reason = '', message = '', finishedAt = '' }: RawEnd): ContainerEnd {
  return { exitCode, signal, reason, message, atMs: Date.parse(finishedAt) || 0 }
}
