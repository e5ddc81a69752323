import { setTimeout as sleep } from 'node:timers/promises'
import type { LogRange, LogSlice, RunRef } from '../../run.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { componentLabel } from '../pods/labels.ts'
import { readSnapshot } from './read-snapshot.ts'
import { collectLog } from '../pods/log-collector.ts'
import { hasStarted } from './run-snapshot.ts'
import type { RunSnapshot } from './run-snapshot.ts'

const timeoutMs = 30_000
/** A node that does not answer gives no log either. */
const openTimeoutMs = 1_000
/** How long a followed log may lag behind the end of its pod. */
const lastLinesMs = 2_000

export async function readRunLogs(cluster: TrainerCluster, run: RunRef, range?: LogRange): Promise<LogSlice | null> {
  const snapshot = await readSnapshot(cluster, run)
  if (!snapshot.job && snapshot.pods.length === 0) return null
  const log = await openLog(cluster, snapshot, { follow: false }, AbortSignal.timeout(timeoutMs))
  if (!log) return { text: '', nextOffsetBytes: 0, sizeBytes: 0 }
  const { done, read } = collectLog(log, range)
  await done
  return read()
}

export type LogTail = {
  /** Resolves once the log is being read, or cannot be. */
  ready: Promise<unknown>
  end(): Promise<string | null>
}

/**
 * Follows the log of a run that is about to end, because its last lines are deleted with it. Never throws: a log must not
 * delay the end.
 */
export function followLogTail(cluster: TrainerCluster, snapshot: RunSnapshot, tailBytes: number): LogTail {
  if (tailBytes === 0) return { ready: Promise.resolve(), end: () => Promise.resolve(null) }
  const stopping = new AbortController()
  const opened = openLog(cluster, snapshot, { follow: true }, stopping.signal)
    .then((log) => log && collectLog(log, { offsetBytes: -tailBytes, limitBytes: tailBytes }))
    .catch(() => null)
  const ended = opened.then((log) => log?.done).catch(() => undefined)
  return {
    ready: Promise.race([opened, sleep(openTimeoutMs)]),
    async end() {
      const timer = setTimeout(() => stopping.abort(), lastLinesMs)
      await ended
      clearTimeout(timer)
      return (await opened)?.read().text ?? null
    },
  }
}

async function openLog(
  { api }: TrainerCluster,
  { job, pods }: RunSnapshot,
  query: { follow: boolean },
  signal: AbortSignal,
) {
  // The log of the first node is the log of the run.
  const pod = pods.toSorted((a, b) => a.nodeRank - b.nodeRank || a.createdAtMs - b.createdAtMs)[0]
  const container = job?.labels[componentLabel] ?? pod?.containers.at(-1)?.name
  if (!pod || !container || !hasStarted(pod)) return null
  return api.openLog(pod.name, { container, ...query }, signal)
}
