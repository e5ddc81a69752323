import { holds } from '../pods/observed-pod.ts'
import type { ObservedWorkload } from './observed-job.ts'

/** The place among this service's runs in the same queue. Jobs of others in the queue are not visible. */
export type QueuePlace = { position: number; waiting: number }

const keptForMs = 2_000

/** Sorts at most every two seconds, however many runs ask. */
export function createQueueRanking(workloads: ReadonlyMap<string, ObservedWorkload>) {
  let places: Map<string, QueuePlace> | null = null
  let rankedAtMs = 0
  let isStale = false
  return {
    forget() {
      isStale = true
    },
    placeOf(jobUid: string): QueuePlace | null {
      if (!workloads.has(jobUid)) return null
      if (!places || (isStale && performance.now() - rankedAtMs > keptForMs)) {
        places = rankWorkloads([...workloads.values()])
        rankedAtMs = performance.now()
        isStale = false
      }
      return places.get(jobUid) ?? null
    },
  }
}

/** In Kueue's order: by priority, then by age. */
export function rankWorkloads(workloads: readonly ObservedWorkload[]): Map<string, QueuePlace> {
  const queues = Map.groupBy(workloads.filter(isWaiting), ({ queue }) => queue)
  const places = new Map<string, QueuePlace>()
  for (const queue of queues.values()) {
    queue.sort((a, b) => b.priority - a.priority || a.createdAtMs - b.createdAtMs)
    queue.forEach(({ jobUid }, index) => places.set(jobUid, { position: index + 1, waiting: queue.length }))
  }
  return places
}

function isWaiting({ conditions }: ObservedWorkload): boolean {
  return !holds(conditions, 'QuotaReserved') && !holds(conditions, 'Finished')
}
