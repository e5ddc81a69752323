// Removes prepared rows of ended jobs, and artifacts that no job needs any more.
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'

type Stores = { database: Database; storage: Storage }

const jobsPerPortion = 100

/**
 * Removes objects under the lock: a job that is resumed meanwhile waits, and then prepares its rows again.
 * @returns the number of jobs
 */
export async function removePreparedRows({ database, storage }: Stores, before: Date): Promise<number> {
  for (let count = 0; ;) {
    const jobs = await database.transaction(async (tx) => {
      const held = await tx.retention.holdUnneededData(before, jobsPerPortion)
      await storage.remove([...new Set(held.flatMap(({ keys }) => keys))])
      await tx.retention.markDataRemoved(held.map(({ id }) => id))
      return held.length
    })
    count += jobs
    if (jobs < jobsPerPortion) return count
  }
}

/** Old checkpoints, and broken artifacts of either kind. @returns their number */
export async function removeOldArtifacts(
  { database: { retention: rows }, storage }: Stores,
  needed: { keptCheckpoints: number; brokenBefore: Date },
): Promise<number> {
  for (let [count, last] = [0, 0]; ;) {
    const jobs = await rows.jobsWithOldArtifacts(last, needed, jobsPerPortion)
    for (const jobId of jobs) {
      const old = await rows.oldArtifacts(jobId, needed)
      const ids = old.map(({ id }) => id)
      // Artifacts are hidden first: a crash in between leaves no visible checkpoint without its bytes.
      await rows.hideArtifacts(ids)
      await storage.remove(old.flatMap(({ files }) => files.map(({ key }) => key)))
      await rows.deleteArtifacts(ids)
      count += ids.length
    }
    if (jobs.length < jobsPerPortion) return count
    last = jobs.at(-1) ?? last
  }
}
