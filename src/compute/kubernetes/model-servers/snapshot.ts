// What we keep of a model server's objects.
import { readPod } from '../pods/observed-objects.ts'
import type { KubernetesObject, ObservedOwner, ObservedPod } from '../pods/observed-objects.ts'
import { componentLabel } from '../pods/labels.ts'

export type ContainerEnd = { exitCode: number; signal: number; reason: string; message: string; atMs: number }

/** A pod, and what its containers have been through: they are started again in place. */
export type ObservedReplica = ObservedPod & {
  /** All of them. */
  isRunning: boolean
  /** The program's, or the engine's beside it while that one is down: what follows is about this one. */
  container: string
  restarts: number
  /** If it has ended before. */
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
  const told = down ?? main
  const end = told?.state?.terminated ?? told?.lastState?.terminated
  return {
    ...readPod(raw),
    isRunning: statuses.length > 0 && statuses.every(({ state }) => state?.running !== undefined),
    container: told?.name ?? component,
    restarts: told?.restartCount ?? 0,
    lastEnd: end ? readEnd(end) : null,
  }
}

function readEnd({ exitCode, signal = 0, reason = '', message = '', finishedAt = '' }: RawEnd): ContainerEnd {
  return { exitCode, signal, reason, message, atMs: Date.parse(finishedAt) || 0 }
}
