// Objects that no row names: a process wrote them and died, or a URL outlived its row.
import { allFolders, ownerOfKey, type KeyOwner } from '../src/domain/storage-keys.ts'
import type { Database, Repositories } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'

type Stores = { database: Database; storage: Storage }
type OwnedKey = { key: string; owner: KeyOwner }
/** `jobId`: the job that may still name the object; null where no job may. */
type Orphan = { key: string; jobId: number | null }

/** Far longer than any request takes to name what it wrote. Upload URLs live two hours. */
const orphanAfterMs = 24 * 60 * 60 * 1000

/** Lists the whole store, a page in memory at a time. @returns the number of removed objects */
export async function removeOrphanedObjects(
  stores: Stores,
  { olderThanMs = orphanAfterMs, signal }: { olderThanMs?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let count = 0
  for (const folder of allFolders)
    for await (const page of stores.storage.pages(folder)) {
      signal?.throwIfAborted()
      const old = page.filter(({ ageMs }) => ageMs >= olderThanMs).map(({ key }) => key)
      count += await removeUnnamed(stores, old)
    }
  return count
}

async function removeUnnamed(stores: Stores, keys: readonly string[]): Promise<number> {
  const { database, storage } = stores
  const orphans: Orphan[] = []
  for (const unnamed of await unnamedKeys(database, keys)) orphans.push(...(await withJob(storage, unnamed)))
  const jobs = await database.trainingJobs.dataKeys(orphans.flatMap(({ jobId }) => jobId ?? []))
  const [ofJobs, ofNobody] = [[] as Orphan[], [] as Orphan[]]
  for (const orphan of orphans) (orphan.jobId !== null && jobs.has(orphan.jobId) ? ofJobs : ofNobody).push(orphan)
  await storage.remove(ofNobody.map(({ key }) => key))
  return ofNobody.length + (await removeOfEndedJobs(stores, ofJobs))
}

/** Empty for a copy of a model without the id of its job: the copy stays. */
async function withJob(storage: Storage, { key, owner }: OwnedKey): Promise<Orphan[]> {
  if (owner.kind === 'data') return [{ key, jobId: owner.jobId }]
  if (owner.kind !== 'model') return [{ key, jobId: null }]
  const { job } = await storage.metadata(key)
  return job === undefined ? [] : [{ key, jobId: Number(job) }]
}

/** Only an open job can still name what was written for it. */
async function removeOfEndedJobs({ database, storage }: Stores, orphans: readonly Orphan[]): Promise<number> {
  if (orphans.length === 0) return 0
  return database.transaction(async (tx) => {
    // The lock keeps ended jobs from being resumed: a resumed job may write under the same keys.
    const ended = await tx.trainingJobs.holdEnded(orphans.flatMap(({ jobId }) => jobId ?? []))
    const keys = orphans.filter(({ jobId }) => ended.has(jobId ?? 0)).map(({ key }) => key)
    const unnamed = await unnamedKeys(tx, keys)
    await storage.remove(unnamed.map(({ key }) => key))
    return unnamed.length
  })
}

/** Leaves out keys that are not ours, and every key of a running batch, which may still name them. */
async function unnamedKeys(tables: Repositories, keys: readonly string[]): Promise<OwnedKey[]> {
  const owned = keys.flatMap((key) => {
    const owner = ownerOfKey(key)
    return owner ? [{ key, owner }] : []
  })
  const idsOf = (kind: 'version' | 'artifact' | 'batch') =>
    owned.flatMap(({ owner }) => (owner.kind === kind ? owner.id : []))
  const versions = await tables.datasets.known(idsOf('version'))
  const artifacts = await tables.artifacts.known(idsOf('artifact'))
  const batches = await tables.inferenceBatches.listKeys(idsOf('batch'))
  const batchOf = new Map(batches.map((batch) => [batch.id, batch]))
  const jobs = await tables.trainingJobs.dataKeys(owned.flatMap(({ owner }) => ('jobId' in owner ? owner.jobId : [])))
  const models = await tables.models.known(owned.flatMap(({ owner }) => (owner.kind === 'model' ? owner.name : [])))

  return owned.filter(({ key, owner }) => !isNamed(key, owner))

  function isNamed(key: string, owner: KeyOwner): boolean {
    switch (owner.kind) {
      case 'version':
        return versions.has(owner.id)
      case 'artifact':
        return artifacts.has(owner.id)
      case 'data':
        return jobs.get(owner.jobId)?.includes(key) ?? false
      case 'job':
        return jobs.has(owner.jobId)
      case 'model':
        return models.has(owner.name)
      case 'batch': {
        const batch = batchOf.get(owner.id)
        return batch !== undefined && (batch.state === 'running' || [batch.promptsKey, batch.resultKey].includes(key))
      }
    }
  }
}
