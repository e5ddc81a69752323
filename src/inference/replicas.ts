// Which replica of a model takes a call: the one with the least work, and for an adapter one that is likely to hold it.
import { hash } from 'node:crypto'
import { withAbort } from './abortable.ts'
import { EngineLost, type Endpoint } from './engine-client.ts'

/** A replica as its row says. `seenAtMs` changes with each of its reports. */
export type ReadyReplica = Endpoint & { seenAtMs: number; isReporting: boolean }

/** `secondsPerRow`: how long each of its rows has been worked on since the first, where n at once get an n-th each. */
type Work = { rows: number; calls: Set<AbortController>; secondsPerRow: number; asOfMs: number }

/** One that was lost is asked again after this, or as soon as it has reported anew. */
const passedOverMs = 10_000
/** Calls on a replica that fell silent are made elsewhere after this, besides the 90 s after which it counts as silent. */
const silentMs = 15_000

export type Replicas = ReturnType<typeof createReplicas>

/** @param now for tests */
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
     * @param adapter its name, or null for the base
     * @param slackRows how much more than the idlest a replica may have and still get the calls of its adapters
     */
    choose(replicas: readonly ReadyReplica[], adapter: string | null, slackRows: number): ReadyReplica {
      const usable = replicas.filter((replica) => !isPassedOver(replica))
      const candidates = usable.length > 0 ? usable : replicas
      const least = Math.min(...candidates.map(rowsOn))
      const ordered = adapter === null ? shuffle(candidates) : inHashOrder(candidates, adapter)
      const most = least + (adapter === null ? 0 : slackRows)
      return ordered.find((replica) => rowsOn(replica) <= most) as ReadyReplica
    },

    /** It did not answer, or not now. @returns whether another one might */
    lose(replica: ReadyReplica, replicas: readonly ReadyReplica[]): boolean {
      losses.set(keyOf(replica), { seenAtMs: replica.seenAtMs, atMs: now() })
      return replicas.some((other) => !isPassedOver(other))
    },

    /**
     * The signal that `work` gets also aborts, with EngineLost, when the replica is given up as silent.
     * @param onSeconds told this work's share of the replica's time
     */
    use<T>(
      replica: Endpoint,
      {
        rows,
        signal,
        onSeconds,
      }: { rows: number; signal: AbortSignal; onSeconds?: ((seconds: number) => void) | undefined },
      work: (signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      return withAbort(signal, async (own) => {
        const key = keyOf(replica)
        const load = working.get(key) ?? { rows: 0, calls: new Set(), secondsPerRow: 0, asOfMs: now() }
        working.set(key, load)
        const startedAt = passTime(load)
        load.rows += rows
        load.calls.add(own)
        try {
          return await work(own.signal)
        } finally {
          onSeconds?.((passTime(load) - startedAt) * rows)
          load.rows -= rows
          load.calls.delete(own)
          if (load.calls.size === 0) working.delete(key)
        }
      })
    },

    /** To be told the rows time and again: a node that is gone leaves its connections hanging for many minutes. */
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
        for (const call of calls) call.abort(new EngineLost(`A replica of ${baseModel} has fallen silent.`, false))
      }
      for (const [key, { atMs }] of losses) if (now() - atMs > passedOverMs) losses.delete(key)
      for (const key of silentSinceMs.keys()) if (!working.has(key)) silentSinceMs.delete(key)
    },
  }
}

const keyOf = ({ baseModel, generation, instance, url }: Endpoint) => `${baseModel} ${generation} ${instance} ${url}`

/** Rendezvous hashing: a replica that comes or goes moves only its own share of the adapters. */
function inHashOrder(replicas: readonly ReadyReplica[], adapter: string): ReadyReplica[] {
  if (replicas.length === 1) return [...replicas]
  const scored = replicas.map((replica) => ({ replica, score: hash('sha1', `${adapter} ${replica.instance}`) }))
  return scored.toSorted((a, b) => (a.score < b.score ? -1 : 1)).map(({ replica }) => replica)
}

/** From another one each time, so that replicas with equal work take turns. */
function shuffle(replicas: readonly ReadyReplica[]): ReadyReplica[] {
  const start = Math.floor(Math.random() * replicas.length)
  return [...replicas.slice(start), ...replicas.slice(0, start)]
}
