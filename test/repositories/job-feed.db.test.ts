// The order of the news relies on numbers that rise in the order of the commits, and on a notification with each commit.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import pg from 'pg'
import { makeApiKey, parseApiKey, sha256 } from '../../src/domain/identifiers.ts'
import { cursorText, startCursor } from '../../src/domain/job-cursor.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { listenToNotifications } from '../../src/repositories/notifications.ts'
import { until } from '../support/eventually.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('the news of a job', async () => {
  // Attempts that are never released would change the grants of other suites.
  const scratch = await createScratchDatabase()
  const { url: databaseUrl } = scratch
  const database = connectDatabase(databaseUrl, { poolSize: 4 })
  const notifications = listenToNotifications(databaseUrl)
  const announced: (number | null)[] = []
  notifications.onJob((jobId) => announced.push(jobId))
  after(async () => {
    await notifications.close()
    await database.close()
    await scratch.drop()
  })

  const aJob = async () => {
    const accountId = await anAccount(database)
    const { jobId, number, tokenHash } = await openAttempt(database, accountId)
    await database.attempts.claim(tokenHash, 'one')
    return { jobId, number }
  }
  const stepAt = (step: number, loss = 1) => ({
    ...{ step, loss, learning_rate: 0.1, epoch: 1 },
    ...{ iter_time: 0.5, flops: 1, remaining_time: 1 },
  })

  test('an event that commits after a later one is not missed behind it', async () => {
    const { jobId } = await aJob()
    const slow = new pg.Client({ connectionString: databaseUrl })
    await slow.connect()
    try {
      await slow.query('begin')
      for (const actor of ['slow 1', 'slow 2'])
        await slow.query(`insert into job_events (job_id, kind, actor) values ($1, 'note', $2)`, [jobId, actor])
      await database.jobEvents.add(jobId, { kind: 'note', actor: 'quick' })
      const before = await database.jobFeed.since(jobId, startCursor, 10)
      assert.equal(before?.events.at(-1)?.actor, 'quick')
      await slow.query('commit')
      const cursor = { ...startCursor, event: before.events.at(-1)?.id ?? 0 }
      const news = await database.jobFeed.since(jobId, cursor, 10)
      assert.deepEqual(
        news?.events.map(({ actor }) => actor),
        ['slow 1', 'slow 2'],
      )
    } finally {
      await slow.end()
    }
  })

  test('a step that is reported again is news, in pages along the index', async () => {
    const { jobId, number } = await aJob()
    await database.trainingSteps.upsertMany(jobId, number, [stepAt(10), stepAt(20)])
    const seen: number[][] = []
    let cursor = startCursor
    const read = async () => {
      const news = await database.jobFeed.since(jobId, cursor, 1)
      for (const { sequence, row } of news?.steps ?? []) {
        seen.push([row.step, row.loss])
        cursor = { ...cursor, sequence, step: row.step }
      }
    }
    for (let page = 0; page < 3; page++) await read()
    await database.trainingSteps.upsertMany(jobId, number, [stepAt(10, 2)])
    for (let page = 0; page < 2; page++) await read()
    const now = await database.jobFeed.now(jobId)
    assert.deepEqual({ ...now, event: 0, progress: 0 }, cursor, 'a follower from now on begins where this one ended')
    const newest = await database.jobFeed.newest(jobId)
    assert.deepEqual({ ...newest, event: 0 }, { ...cursor, progress: cursor.sequence })
    assert.deepEqual(seen, [
      [10, 1],
      [20, 1],
      [10, 2],
    ])
    assert.match(cursorText(cursor), /^0-\d+\.10-0-0-1\.0$/)
  })

  test('the state has a number of its own, which only a change raises', async () => {
    const { id: jobId } = await openJob(database, await anAccount(database))
    const state = async () => (await database.jobFeed.since(jobId, startCursor, 10))?.stateSequence ?? assert.fail()
    assert.equal(await state(), 0)
    await database.trainingJobs.explain(jobId, 1, 'CREATED', 'waits', 'Waits.')
    const first = await state()
    assert.ok(first > 0)
    await database.trainingJobs.explain(jobId, 1, 'CREATED', 'waits', 'Waits.')
    assert.equal(await state(), first)
    const [newest, now] = [await database.jobFeed.newest(jobId), await database.jobFeed.now(jobId)]
    assert.deepEqual([newest?.state, now?.state], [first, first - 1])
  })

  test('each commit is announced with the id of the job', async () => {
    const { jobId, number } = await aJob()
    const changes = {
      event: () => database.jobEvents.add(jobId, { kind: 'note', actor: 'test' }),
      step: () => database.trainingSteps.upsertMany(jobId, number, [stepAt(10)]),
      'step again': () => database.trainingSteps.upsertMany(jobId, number, [stepAt(10, 2)]),
      reason: () => database.trainingJobs.explain(jobId, 1, 'CREATED', 'waits', 'Waits.'),
      log: () => database.attempts.noteLog({ jobId, number }, 12),
    }
    await until('the listener is connected', () => announced.includes(null))
    await until('the changes before', () => announced.includes(jobId))
    for (const [name, change] of Object.entries(changes)) {
      announced.length = 0
      await change()
      await until(`the announcement of the ${name}`, () => announced.includes(jobId))
    }
    const news = await database.jobFeed.since(jobId, startCursor, 10)
    assert.deepEqual(news?.log, { bytes: 12, isReleased: false })
    assert.equal((await database.jobFeed.newest(jobId))?.offset, 12)
    assert.equal(await database.jobFeed.since(2 ** 31 - 1, startCursor, 10), null)
    assert.equal(await database.jobFeed.newest(2 ** 31 - 1), null)
  })

  test('nothing is read by a walk through the table', async () => {
    const sql = new pg.Client({ connectionString: databaseUrl })
    await sql.connect()
    const { rows } = await sql.query<Record<string, string>>(
      `explain (generic_plan) select * from training_steps where job_id = $1::int and (sequence, step) > ($2::bigint, $3::int)
       order by sequence, step limit $4::int`,
    )
    await sql.end()
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, /Index Scan using training_steps_job_id_sequence_step_idx/)
    assert.doesNotMatch(plan, /Sort/)
  })

  test('the end of a session and of a key is announced to their streams', async () => {
    const ended: (string | null)[] = []
    notifications.onAccessEnd((id) => ended.push(id))
    const accountId = await anAccount(database)
    const { id: apiKeyId, secretHash } = parseApiKey(makeApiKey()) ?? assert.fail()
    await database.apiKeys.create({ id: apiKeyId, secretHash, accountId, name: 'test', scopes: [], expiresAt: null })
    const secrets = { cookieHash: sha256(apiKeyId), pageTokenHash: sha256('page') }
    const { id } = await database.consoleSessions.add({ accountId, apiKeyId }, secrets, 3600)
    await database.consoleSessions.end({ accountId, id })
    await until('the session is announced', () => ended.includes(id))
    await database.apiKeys.revoke(apiKeyId, new Date())
    await until('the key is announced', () => ended.includes(apiKeyId))
  })
})
