// Objects that no row names: what a process wrote before it died, and what a URL wrote that outlived its row.
import { setTimeout as sleep } from 'node:timers/promises'
import { allFolders } from '../domain/storage-keys.ts'
import type { ServiceDependencies } from '../services/context.ts'
import { findOrphanedObjects, type OwnedKey } from '../services/find-orphaned-objects.ts'

type Stores = Pick<ServiceDependencies, 'database' | 'storage'>
/** `jobId` is of the job that may name it yet; null where none may. */
type Orphan = { key: string; jobId: number | null }

/** Far beyond any request that names what it wrote; a batch that is accepted later still fails by name. URLs live two hours. */
const orphanAfterMs = 24 * 60 * 60 * 1000
/** The whole store is listed for it. */
const everyMs = 24 * 60 * 60 * 1000

/** A page of the listing is in memory at a time. May run anywhere, any number of times, at once. @returns how many there were */
export async function sweepOrphans(
  stores: Stores,
  { olderThanMs = orphanAfterMs, signal }: { olderThanMs?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let count = 0
  for (const folder of allFolders)
    for await (const page of stores.storage.pages(folder)) {
      if (signal?.aborted) return count
      const old = page.filter(({ ageMs }) => ageMs >= olderThanMs).map(({ key }) => key)
      count += await removeUnnamed(stores, old)
    }
  return count
}

async function removeUnnamed(stores: Stores, keys: readonly string[]): Promise<number> {
  const { database, storage } = stores
  const orphans: Orphan[] = []
  for (const unnamed of await findOrphanedObjects(database, keys)) orphans.push(...(await withJob(storage, unnamed)))
  const jobs = await database.trainingJobs.dataKeys(orphans.flatMap(({ jobId }) => jobId ?? []))
  const [ofJobs, ofNobody] = [[] as Orphan[], [] as Orphan[]]
  for (const orphan of orphans) (orphan.jobId !== null && jobs.has(orphan.jobId) ? ofJobs : ofNobody).push(orphan)
  await storage.remove(ofNobody.map(({ key }) => key))
  return ofNobody.length + (await removeOfEndedJobs(stores, ofJobs))
}

/** None where that cannot be told: the release before gave copies of models no metadata. */
async function withJob(storage: Stores['storage'], { key, owner }: OwnedKey): Promise<Orphan[]> {
  if (owner.kind === 'data') return [{ key, jobId: owner.jobId }]
  if (owner.kind !== 'model') return [{ key, jobId: null }]
  const { job } = await storage.metadata(key)
  return job === undefined ? [] : [{ key, jobId: Number(job) }]
}

/** A job names what was written for it only while it is open. */
async function removeOfEndedJobs({ database, storage }: Stores, orphans: readonly Orphan[]): Promise<number> {
  if (orphans.length === 0) return 0
  return database.transaction(async (tx) => {
    // Held: until these are gone nobody resumes a job, whose next run may write under the same keys.
    const ended = await tx.trainingJobs.holdEnded(orphans.flatMap(({ jobId }) => jobId ?? []))
    const keys = orphans.filter(({ jobId }) => ended.has(jobId ?? 0)).map(({ key }) => key)
    const unnamed = await findOrphanedObjects(tx, keys)
    await storage.remove(unnamed.map(({ key }) => key))
    return unnamed.length
  })
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
