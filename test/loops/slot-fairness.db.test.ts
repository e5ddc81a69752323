// One account fills the queue, another one submits a job: slots go to both by turns.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount, openAttempt } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

const slots = 8
const crowd = 1000

suite('an account with a thousand waiting jobs', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  const grant = () => database.transaction((tx) => tx.attempts.grantSlots(slots))
  const release = (jobId: number) =>
    database.attempts.release({ jobId, number: 1 }, { cause: 'finished', exitCode: 0, message: 'done' })

  /** Job ids of the account's attempts that hold a slot, by age. */
  async function running(accountId: string): Promise<number[]> {
    const { rows } = await scratch.client.query<{ job_id: number }>(
      'select job_id from attempts where account_id = $1 and granted_at is not null and released_at is null order by job_id',
      [accountId],
    )
    return rows.map(({ job_id }) => job_id)
  }

  /** Copies of a waiting attempt, each of a job of its own. */
  async function multiply(jobId: number, count: number) {
    const copies = (table: string, changes: string, key: string) =>
      scratch.client.query(
        `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object(${changes}))).*
         from ${table} t, generate_series(1, ${count}) n where t.${key} = ${jobId}`,
      )
    await copies('training_jobs', `'id', t.id + n`, 'id')
    const token = `'\\x' || encode(sha256(n::text::bytea), 'hex')`
    await copies('attempts', `'id', gen_random_uuid(), 'job_id', t.job_id + n, 'token_hash', ${token}`, 'job_id')
    await scratch.client.query(`select setval('training_jobs_id_seq', ${jobId + count})`)
  }

  test('gives the next free slot to another account, and shares the slots as long as both wait', async () => {
    const [large, small] = [await anAccount(database), await anAccount(database)]
    const { jobId } = await openAttempt(database, large)
    await multiply(jobId, crowd - 1)
    await grant()
    assert.equal((await running(large)).length, slots)

    await openAttempt(database, small)
    await grant()
    assert.deepEqual(await running(small), [], 'no slot is free')
    await release((await running(large))[0] ?? 0)
    await grant()
    assert.equal((await running(small)).length, 1)

    for (let i = 0; i < slots; i++) await openAttempt(database, small)
    for (let i = 0; i < slots; i++) {
      await release((await running(large))[0] ?? 0)
      await grant()
    }
    assert.deepEqual([(await running(large)).length, (await running(small)).length], [slots / 2, slots / 2])
  })
})
