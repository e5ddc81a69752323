// Objects are stored first, and then the rows that name them commit. An error after COMMIT was sent may be a lost answer: the
// rows may be there, so nothing that they name is removed. The sweep removes objects that no row names.
import type { Database, Repositories } from '../repositories/database.ts'
import type { Storage } from '../storage/storage.ts'

/** `perhaps`: the answer to the commit was lost. */
export type Stored = { kept: 'no' | 'perhaps' | 'yes' }

type Work<T> = (tx: Repositories) => Promise<T>

/** Commits rows that name what is stored, and notes whether they do. */
export async function commitStored<T>(
  database: Pick<Database, 'transaction'>,
  stored: Stored,
  work: Work<T>,
): Promise<T> {
  const result = await database.transaction(async (tx) => {
    const made = await work(tx)
    stored.kept = 'perhaps'
    return made
  })
  stored.kept = 'yes'
  return result
}

type Stores = { database: Pick<Database, 'transaction'>; storage: Pick<Storage, 'remove'> }

/** Removes the object unless rows name it, or may name it. */
export async function storeThenCommit<T>(
  { database, storage }: Stores,
  { key, store, commit }: { key: string; store: () => Promise<unknown>; commit: Work<T> },
): Promise<T> {
  const stored: Stored = { kept: 'no' }
  try {
    await store()
    return await commitStored(database, stored, commit)
  } finally {
    if (stored.kept === 'no') await storage.remove([key]).catch(() => undefined)
  }
}
