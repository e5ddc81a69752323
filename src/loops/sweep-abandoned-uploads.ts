import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceDependencies } from '../services/context.ts'

/** From the opening of an upload; its URL has long expired by then. */
const abandonedAfterMs = 24 * 60 * 60 * 1000
const batch = 200
const everyMs = 60 * 60 * 1000

/**
 * Removes uploads that were opened a day ago and never heard of again: no job, no check, no announcement. May run
 * anywhere, any number of times, at once.
 */
export async function sweepUploads(
  { database, storage }: Pick<ServiceDependencies, 'database' | 'storage'>,
  { olderThanMs = abandonedAfterMs, signal }: { olderThanMs?: number; signal?: AbortSignal } = {},
): Promise<{ uploads: number; partialUploads: number }> {
  const before = new Date((await database.now()).getTime() - olderThanMs)
  let uploads = 0
  for (;;) {
    const abandoned = await database.datasets.abandoned(before, batch)
    for (const { id, uploadKey } of abandoned) {
      if (signal?.aborted) return { uploads, partialUploads: 0 }
      // Hidden first, so that no job begins on it; gone last, so that dying in between is made good the next time.
      await database.datasets.hide(id)
      await storage.remove([uploadKey])
      await database.datasets.removeUnused(id)
      uploads++
    }
    if (abandoned.length < batch) break
  }
  return { uploads, partialUploads: await storage.abortStaleUploads(olderThanMs) }
}

/** Until the signal aborts. */
export async function sweepUploadsEvery({
  signal,
  log,
  ...stores
}: Pick<ServiceDependencies, 'database' | 'storage' | 'log'> & { signal: AbortSignal }) {
  while (!signal.aborted) {
    try {
      const swept = await sweepUploads(stores, { signal })
      if (swept.uploads + swept.partialUploads > 0) log.info(swept, 'removed abandoned uploads')
    } catch (error) {
      log.warn({ err: error }, 'abandoned uploads cannot be removed now')
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
