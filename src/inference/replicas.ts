// Chooses the replica of a model that takes a call: the one with the least work, or for an adapter one that likely holds it.
import { hash } from 'node:crypto'
import { followAbort } from './abortable.ts'
import { EngineLost, type Endpoint } from './engine-client.ts'

/** A replica as its row describes it. `seenAtMs` changes with each report of the replica. */
export type ReadyReplica = Endpoint & { seenAtMs: number; isReporting: boolean }

/** `secondsPerRow`: working time of each row since the first call; of n rows at once each gets an n-th. */
type Work = { rows: number; calls: Set<AbortController>; secondsPerRow: number; asOfMs: number }

type Call = { rows: number; signal: AbortSignal; onSeconds?: ((seconds: number) => void) | undefined }

/** A lost replica is tried again after this time, or as soon as it reports. */
const passedOverMs = 10_000
/** Calls on a silent replica are made elsewhere after this time, on top of the 90 s after which it counts as silent. */
const silentMs = 15_000

export type Replicas = ReturnType<typeof createReplicas>

/** @param now replaced in tests */
export function createReplicas(now: () => number = () => performance.now()) {
  const working = new Map<string, Work>()
  const losses = new Map<string, { seenAtMs: number; atMs: number }>()
  const silentSinceMs = new Map<string, number>()

  const rowsOn = (replica: Endpoint) => working.get(keyOf(replica))?.rows ?? 0

  function passTime(load: Work): number {
    const ms = now()
    if (load.rows > 0) load.secondsPerRow += Math.max(0, ms - load.asOfMs) / 1000 / load.rows
    load.asOfMs = ms
    return load.secondsPerRow
  }

  function isPassedOver(replica: ReadyReplica): boolean {
    if (!replica.isReporting) return true
    const loss = losses.get(keyOf(replica))
    return loss !== undefined && loss.seenAtMs === replica.seenAtMs && now() - loss.atMs < passedOverMs
  }

  return {
    /**
     * @param adapter the adapter's name, or null for the base model
     * @param slackRows an adapter's replica keeps its calls while it has at most this many rows more than the idlest
     */
    choose(replicas: readonly ReadyReplica[], adapter: string | null, slackRows: number): ReadyReplica {
      const usable = replicas.filter((replica) => !isPassedOver(replica))
      const candidates = usable.length > 0 ? usable : replicas
      const least = Math.min(...candidates.map(rowsOn))
      const ordered = adapter === null ? shuffle(candidates) : inHashOrder(candidates, adapter)
      const most = least + (adapter === null ? 0 : slackRows)
      return ordered.find((replica) => rowsOn(replica) <= most) as ReadyReplica
    },

    /** Call when the replica did not answer. @returns whether another replica might */
    lose(replica: ReadyReplica, replicas: readonly ReadyReplica[]): boolean {
      losses.set(keyOf(replica), { seenAtMs: replica.seenAtMs, atMs: now() })
      return replicas.some((other) => !isPassedOver(other))
    },

    /**
     * Begins a call on the replica, which ends when it is disposed of. Its signal also aborts, with EngineLost, when the replica
     * is given up as silent.
     * @param onSeconds called at the end with the call's share of the replica's time
     */
    use(replica: Endpoint, { rows, signal, onSeconds }: Call): { signal: AbortSignal } & Disposable {
      const own = followAbort(signal)
      const key = keyOf(replica)
      const load = working.get(key) ?? { rows: 0, calls: new Set(), secondsPerRow: 0, asOfMs: now() }
      working.set(key, load)
      const startedAt = passTime(load)
      load.rows += rows
      load.calls.add(own)
      return {
        signal: own.signal,
        [Symbol.dispose]() {
          own[Symbol.dispose]()
          onSeconds?.((passTime(load) - startedAt) * rows)
          load.rows -= rows
          load.calls.delete(own)
          if (load.calls.size === 0) working.delete(key)
        },
      }
    },

    /** Call with every refresh: the connections to a lost node would hang for many minutes. */
    giveUpSilent(baseModel: string, replicas: readonly ReadyReplica[]) {
      const reporting = new Set(replicas.filter(({ isReporting }) => isReporting).map(keyOf))
      for (const [key, { calls }] of working) {
        if (!key.startsWith(`${baseModel} `) || reporting.has(key) || reporting.size === 0) {
          silentSinceMs.delete(key)
          continue
        }
        const sinceMs = silentSinceMs.get(key) ?? now()
        silentSinceMs.set(key, sinceMs)
        if (now() - sinceMs < silentMs) continue
        for (const call of calls) call.abort(new EngineLost(`A replica of ${baseModel} no longer answers.`, false))
      }
      for (const [key, { atMs }] of losses) if (now() - atMs > passedOverMs) losses.delete(key)
      for (const key of silentSinceMs.keys()) if (!working.has(key)) silentSinceMs.delete(key)
    },
  }
}

const keyOf = ({ baseModel, generation, instance, url }: Endpoint) => `${baseModel} ${generation} ${instance} ${url}`

/** Rendezvous hashing: a new or lost replica moves only its own share of the adapters. */
function inHashOrder(replicas: readonly ReadyReplica[], adapter: string): ReadyReplica[] {
  if (replicas.length === 1) return [...replicas]
  const scored = replicas.map((replica) => ({ replica, score: hash('sha1', `${adapter} ${replica.instance}`) }))
  return scored.toSorted((a, b) => (a.score < b.score ? -1 : 1)).map(({ replica }) => replica)
}

/** Starts at another replica each time, so that replicas with equal work take turns. */
function shuffle(replicas: readonly ReadyReplica[]): ReadyReplica[] {
  const start = Math.floor(Math.random() * replicas.length)
  return [...replicas.slice(start), ...replicas.slice(0, start)]
}
