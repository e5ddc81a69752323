import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import pg from 'pg'
import { ledgerOf } from '../../src/domain/attempt-ledger.ts'
import type { RunStatement } from '../../src/repositories/prepared-sql.ts'
import { createTrainingUsageRepository } from '../../src/repositories/training-usage.ts'
import { connection } from '../support/stack.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const ever = { from: '2000-01-01', to: '2100-01-01', by: null, limit: 100 }
const spec = { gpus: 2, nodes: 2 }

const attempts = [
  { cause: 'preempted', claimedAt: at(0), workingAt: at(5), savedAt: at(20), endedAt: at(30) },
  { cause: 'preempted', claimedAt: at(40), workingAt: at(44), savedAt: null, endedAt: at(50) },
  { cause: 'finished', claimedAt: at(60), workingAt: at(61), savedAt: at(90), endedAt: at(100) },
] as const
/** The second and the third attempt start from the checkpoint of this time. */
const startedFrom = at(10)

suite('the cost of attempts, by cause', async () => {
  // Repositories cannot write these times. The transaction is never committed.
  const client = new pg.Client({ connectionString: connection().databaseUrl })
  await client.connect()
  await client.query('begin')
  after(() => client.end())
  const run: RunStatement = async <Row extends object>({ text }: { text: string }, values: readonly unknown[]) =>
    (await client.query<Row>(text, [...values])).rows
  const usage = createTrainingUsageRepository(run)

  async function insertJob(accountId: string, [day, key, model]: readonly string[]): Promise<number> {
    const versionId = randomUUID()
    await client.query(
      `insert into dataset_versions (id, account_id, dataset_id, version, upload_key) values ($1, $2, $3, 1, $4)`,
      [versionId, accountId, `rows-${key}`, versionId],
    )
    const { rows } = await client.query<{ id: number }>(
      `insert into training_jobs (account_id, dataset_version_id, dataset_id, status, spec_hash, resume_limit, spec, created_at, api_key_id, base_model)
       values ($1, $2, 'rows', 'COMPLETED', 'none', 1, $3, $4::date, $5, $6) returning id`,
      [accountId, versionId, spec, day, key, model],
    )
    return rows[0]?.id ?? assert.fail('no job')
  }

  const insertAttempt = (
    accountId: string,
    jobId: number,
    index: number,
    { cause, claimedAt, workingAt, savedAt, endedAt }: (typeof attempts)[number],
  ) =>
    client.query(
      `insert into attempts (id, job_id, number, generation, ordinal, account_id, mode, token_hash, run_name,
         from_artifact_id, from_at, cause, claimed_at, working_at, saved_at, ended_at)
       values ($1, $2, $3, 1, $3, $4, 'train', $5, 'none', $6, $7, $8, $9, $10, $11, $12)`,
      [
        ...[randomUUID(), jobId, index + 1, accountId, Buffer.from(randomUUID())],
        ...(index === 0 ? [null, null] : [randomUUID(), startedFrom]),
        ...[cause, claimedAt, workingAt, savedAt, endedAt],
      ],
    )

  test('the sums are those of the ledgers of the attempts', async () => {
    const accountId = randomUUID()
    await client.query(`insert into accounts (id, name) values ($1, 'costs')`, [accountId])
    const jobId = await insertJob(accountId, ['2026-01-01', 'laptop', 'small'])
    for (const [index, attempt] of attempts.entries()) await insertAttempt(accountId, jobId, index, attempt)
    const found = await usage.byCause(accountId, ever)
    assert.deepEqual(
      found.map(({ cause, attempts: count }) => [cause, count]),
      [
        ['preempted', 2],
        ['finished', 1],
      ],
    )
    const ledgers = attempts.map((each, index) => ({
      cause: each.cause,
      ...ledgerOf(each, { repeatedFrom: index === 2 ? null : startedFrom, now: at(200) }),
    }))
    for (const { cause, training, gpu } of found)
      for (const part of ['allocated', 'productive', 'lost'] as const) {
        const sum = ledgers.filter((each) => each.cause === cause).reduce((total, each) => total + each[part], 0)
        assert.deepEqual([training[part], gpu[part]], [sum, 4 * sum], `${cause} ${part}`)
      }
    assert.deepEqual(await usage.byCause(randomUUID(), ever), [])
    assert.deepEqual(await usage.byCause(accountId, { ...ever, to: '2000-01-02' }), [])

    await insertAttempt(accountId, await insertJob(accountId, ['2026-01-02', 'nightly', 'tiny']), 0, attempts[2])
    for (const [by, first, second] of [
      ['day', '2026-01-01', '2026-01-02'],
      ['key', 'laptop', 'nightly'],
      ['model', 'small', 'tiny'],
    ] as const) {
      const split = await usage.byCause(accountId, { ...ever, by })
      assert.deepEqual(
        split.map(({ group, cause, attempts: count }) => [group, cause, count]),
        [
          [first, 'preempted', 2],
          [first, 'finished', 1],
          [second, 'finished', 1],
        ],
      )
    }
  })
})
