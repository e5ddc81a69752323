import assert from 'node:assert/strict'
import { after } from 'node:test'
import { connectDatabase, type Database, type Repositories } from '../../src/repositories/database.ts'
import { connection } from './stack.ts'

/** The database of the stack, until the suite is over. */
export function openDatabase(poolSize = 2): Database {
  const database = connectDatabase(connection().databaseUrl, { poolSize })
  after(() => database.close())
  return database
}

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
