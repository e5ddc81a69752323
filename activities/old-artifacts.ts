// Removes prepared rows of ended jobs, and artifacts that no job needs any more.
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'

type Stores = { database: Database; storage: Storage }

const jobsPerPortion = 100
const rolloutsPerPortion = 500

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
      await remove({ rows, storage }, old)
      count += old.length
    }
    if (jobs.length < jobsPerPortion) return count
    last = jobs.at(-1) ?? last
  }
}

/** Rollouts that their jobs no longer keep. @returns their number */
export async function removeOldRollouts(
  { database: { retention: rows }, storage }: Stores,
  dayMs: number,
): Promise<number> {
  for (let count = 0; ;) {
    const old = await rows.oldRollouts(dayMs, rolloutsPerPortion)
    await remove({ rows, storage }, old)
    count += old.length
    if (old.length < rolloutsPerPortion) return count
  }
}

/** Artifacts are hidden first: a crash in between leaves no visible checkpoint without its bytes. */
async function remove(
  { rows, storage }: { rows: Database['retention']; storage: Storage },
  old: Awaited<ReturnType<Database['retention']['oldArtifacts']>>,
) {
  const ids = old.map(({ id }) => id)
  await rows.hideArtifacts(ids)
  await storage.remove(old.flatMap(({ files }) => files.map(({ key }) => key)))
  await rows.deleteArtifacts(ids)
}
