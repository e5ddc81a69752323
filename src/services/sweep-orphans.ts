// Objects that no row knows any more: an upload URL outlives the data set, or the account, that it was made for.
import { setTimeout as sleep } from 'node:timers/promises'
import { ownerOfKey, sweptFolders } from '../domain/storage-keys.ts'
import type { ServiceDependencies } from './context.ts'

type Stores = Pick<ServiceDependencies, 'database' | 'storage'>

/** URLs live two hours, and a row is there before its first object. */
const orphanAfterMs = 24 * 60 * 60 * 1000
/** The whole store is listed for it. */
const everyMs = 24 * 60 * 60 * 1000

/** A page of the listing is in memory at a time. May run anywhere, any number of times, at once. @returns how many there were */
export async function sweepOrphans(
  stores: Stores,
  { olderThanMs = orphanAfterMs, signal }: { olderThanMs?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const before = (await stores.database.now()).getTime() - olderThanMs
  let count = 0
  for (const folder of sweptFolders)
    for await (const page of stores.storage.pages(folder)) {
      if (signal?.aborted) return count
      const old = page.filter(({ writtenAt }) => writtenAt.getTime() <= before).map(({ key }) => key)
      const orphans = await withoutOwner(stores, old)
      await stores.storage.remove(orphans)
      count += orphans.length
    }
  return count
}

async function withoutOwner({ database }: Stores, keys: readonly string[]): Promise<string[]> {
  const owners = keys.flatMap((key) => {
    const owner = ownerOfKey(key)
    return owner ? [{ key, ...owner }] : []
  })
  const versions = await database.datasets.known(owners.flatMap(({ versionId }) => versionId ?? []))
  const jobs = await database.trainingJobs.known(owners.flatMap(({ jobId }) => jobId ?? []))
  return owners
    .filter(({ versionId, jobId }) => !versions.has(versionId ?? '') && !jobs.has(jobId ?? 0))
    .map(({ key }) => key)
}

/** Until the signal aborts. */
export async function sweepOrphansDaily({
  signal,
  log,
  ...stores
}: Stores & Pick<ServiceDependencies, 'log'> & { signal: AbortSignal }) {
  while (!signal.aborted) {
    try {
      const count = await sweepOrphans(stores, { signal })
      if (count > 0) log.info({ count }, 'removed objects that no row knows')
    } catch (error) {
      log.warn({ err: error }, 'objects that no row knows cannot be removed now')
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
