// How Postgres answers the list of jobs: what keeps a page as quick for a million jobs as for ten.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { listJobs } from '../../src/repositories/training-job-statements.ts'
import { connection } from '../support/stack.ts'

const jobsOfAnAccount = 20_000

suite('the plan of the list', () => {
  const sql = new pg.Client({ connectionString: connection().databaseUrl })
  const accounts: string[] = []

  // Never committed: nobody else sees these rows, or what is known of them.
  before(async () => {
    await sql.connect()
    await sql.query('begin')
    for (const name of ['one', 'other']) {
      const { rows } = await sql.query<{ id: string }>('insert into accounts (name) values ($1) returning id', [name])
      const id = rows[0]?.id ?? assert.fail()
      accounts.push(id)
      await sql.query(
        `with version as (
           insert into dataset_versions (id, account_id, dataset_id, version, upload_key)
           values (gen_random_uuid(), $1, 'rows', 1, 'none') returning id)
         insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec,
           spec_hash, resume_limit, created_at)
         select $1, 'none', version.id, 'rows', 'm', case when nth % 3 = 0 then 'FAILED' else 'COMPLETED' end, '{}',
           'none', 1, now() - make_interval(secs => nth)
         from version, generate_series(1, $2::int) nth`,
        [id, jobsOfAnAccount],
      )
    }
    await sql.query('analyze training_jobs')
  })
  after(async () => {
    await sql.query('rollback')
    await sql.end()
  })

  const shapes = [false, true].flatMap((isAfter) => [false, true].map((hasStatus) => ({ isAfter, hasStatus })))

  for (const shape of shapes) {
    const { name, text } = listJobs({ ...shape, hasMetadata: false })
    test(`${name} walks one index and neither sorts, counts nor skips`, async (t) => {
      assert.doesNotMatch(text, /\boffset\b|\bcount\b/i)
      const [account] = accounts
      const { rows: half } = await sql.query<{ id: number }>(
        `select id from training_jobs where account_id = $1 order by created_at offset ${jobsOfAnAccount / 2} limit 1`,
        [account],
      )
      const values = [account, 100, ...(shape.isAfter ? [half[0]?.id] : []), ...(shape.hasStatus ? ['FAILED'] : [])]
      const plan = async (options: string, query: string) => {
        const { rows } = await sql.query<Record<string, string>>(`explain (${options}) ${query}`)
        return rows.map((row) => row['QUERY PLAN']).join('\n')
      }
      const literal = values.reduce<string>(
        (query, value, at) => query.replaceAll(`$${at + 1}::`, `'${String(value)}'::`),
        text,
      )
      const asRun = await plan('analyze, timing off, costs off', literal)
      const index = shape.hasStatus ? 'account_id_status_created_at_id' : 'account_id_created_at_id'
      for (const seen of [asRun, await plan('generic_plan', text)]) {
        assert.match(seen, new RegExp(`Index Scan Backward using training_jobs_${index}_idx`))
        assert.doesNotMatch(seen, /Sort|Seq Scan|Aggregate|Bitmap/)
      }
      // It begins at the cursor: what lies before is not read and thrown away.
      assert.match(asRun, /Index Scan Backward using \w+ on training_jobs[^\n]*rows=100 /)
      assert.doesNotMatch(asRun, /Rows Removed/)
      t.diagnostic(asRun)
    })
  }

  const insertTagged = (metadata: object, count: number) =>
    sql.query<{ id: number }>(
      `insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec, spec_hash,
         resume_limit, created_at)
       select $1, 'none', (select id from dataset_versions where account_id = $1 limit 1), 'rows', 'm', 'FAILED',
         jsonb_build_object('metadata', $2::jsonb), 'none', 1, now() - make_interval(secs => nth)
       from generate_series(1, $3::int) nth returning id`,
      [accounts[0], metadata, count],
    )

  test('jobs are found by pairs of their metadata, in every page and status', async () => {
    const [account] = accounts
    const { rows: some } = await insertTagged({ team: 'a', run: '7' }, 3)
    await insertTagged({ team: 'a', run: '8' }, 5000)
    await sql.query('analyze training_jobs, training_job_metadata')
    const ids = some.map(({ id }) => id).toSorted((a, b) => a - b)
    const list = async (metadata: Record<string, string>, after?: number, status?: string) => {
      const shape = { isAfter: after !== undefined, hasStatus: status !== undefined, hasMetadata: true }
      const [first] = Object.entries(metadata)
      const values = [account, 100, after, status, JSON.stringify(metadata), ...(first ?? [])]
      const given = values.filter((value) => value !== undefined)
      const { rows } = await sql.query<{ id: number }>(listJobs(shape).text, given)
      return rows.map(({ id }) => id).toSorted((a, b) => a - b)
    }
    for (const status of [undefined, 'FAILED']) {
      assert.deepEqual(await list({ run: '7' }, undefined, status), ids)
      assert.deepEqual(await list({ team: 'a', run: '7' }, undefined, status), ids)
      assert.deepEqual(await list({ team: 'nobody' }, undefined, status), [])
      assert.deepEqual(await list({ team: 'a', run: '9' }, undefined, status), [])
      assert.equal((await list({ run: '7' }, ids[0], status)).length, 2)
      assert.equal((await list({ team: 'a' }, undefined, status)).length, 100)
    }
    const { rows } = await sql.query<Record<string, string>>(
      `explain (generic_plan) ${listJobs({ isAfter: true, hasStatus: true, hasMetadata: true }).text}`,
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, /Scan Backward using training_job_metadata_pairs_idx/)
    assert.doesNotMatch(plan, /Sort|Seq Scan|Bitmap/)
  })
})
