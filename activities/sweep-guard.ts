// Keeps the sweep from emptying a bucket when its database is empty, foreign or much older than the bucket.
import type { Database } from '../src/repositories/database.ts'
import { markInstallation, readInstallation } from './installation-mark.ts'
import type { Storage } from '../src/storage/storage.ts'

export const refusalReasons = ['another_installation', 'unknown_bucket', 'too_many_objects'] as const
export type RefusalReason = (typeof refusalReasons)[number]

/** Nothing was removed. The message says what to do. */
export class SweepRefused extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Counts of a whole bucket. */
export type Survey = {
  objects: number
  /** Objects that a row of this database names by an id that no other database has. */
  named: number
  /** Objects that the sweep would remove. */
  orphans: number
}

/** So many orphans go whatever their share: a small bucket could not be swept otherwise. */
const alwaysAllowed = 100

/** @throws SweepRefused when one sweep would remove too many objects */
export function assertFewOrphans({ objects, orphans }: Survey, maxShare: number) {
  if (orphans <= Math.max(alwaysAllowed, objects * maxShare)) return
  throw new SweepRefused(
    'too_many_objects',
    `The sweep would remove ${orphans} of ${objects} objects, because no row names them. That is more than the share ` +
      `ANNEAL_SWEEP_MAX_SHARE (${maxShare}). Check DATABASE_URL and S3_BUCKET. If both are right, set the share to 1 for one sweep.`,
  )
}

type Stores = { database: Pick<Database, 'installation'>; storage: Storage }

/**
 * Compares the id of the database with that of the bucket. A bucket without an id gets that of the database, if it is
 * empty or the database names objects in it.
 * @throws SweepRefused
 */
export async function assertSameInstallation({ database, storage }: Stores, survey: Survey) {
  const id = await database.installation.id()
  const ofBucket = (await readInstallation(storage)) ?? (await writeInstallation(storage, id, survey))
  if (ofBucket === id) return
  throw new SweepRefused(
    'another_installation',
    `The bucket belongs to installation ${ofBucket}, the database to ${id}. Check DATABASE_URL and S3_BUCKET.`,
  )
}

/** @returns what the bucket holds then: another installation may have been first */
async function writeInstallation(storage: Storage, id: string, { objects, named }: Survey) {
  if (objects > 0 && named === 0)
    throw new SweepRefused(
      'unknown_bucket',
      `The bucket has no installation id, and no row names any of its ${objects} objects. Check DATABASE_URL and S3_BUCKET.`,
    )
  return markInstallation(storage, id)
}
