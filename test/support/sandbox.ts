import assert from 'node:assert/strict'
import type { Database, Repositories } from '../../src/repositories/database.ts'

/** Work in a transaction that is rolled back: the stack's own processes never see its rows. */
export const createSandbox =
  (database: Pick<Database, 'transaction'>) => async (work: (tx: Repositories) => Promise<void>) => {
    const done = new Error('rolled back')
    await assert.rejects(
      database.transaction(async (tx) => {
        await work(tx)
        throw done
      }),
      done,
    )
  }
