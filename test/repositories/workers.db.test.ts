import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { query } from '../embedded/support/stack-process.ts'
import { connection } from '../support/stack.ts'

suite('reports of workers', () => {
  const { databaseUrl } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 2 })
  after(() => database.close())
  const aReport = { host: 'h', pid: 7, slots: null, isPolling: true, activityCount: 2, reaped: { job: 1 } }
  const find = async (wanted: string) => (await database.workers.list(1000)).find(({ id }) => id === wanted)
  const lastSeen = (id: string, ago: string) =>
    query(databaseUrl, `update workers set seen_at = now() - interval '${ago}' where id = '${id}'`)

  test('the newest report of a process is kept', async () => {
    const id = randomUUID()
    await database.workers.report({ ...aReport, id })
    await database.workers.report({ ...aReport, id, slots: 3, isPolling: false, reaped: { job: 2 } })
    const { startedAt, seenAt, ...kept } = (await find(id)) ?? assert.fail('no report')
    assert.deepEqual(kept, { ...aReport, id, slots: 3, isPolling: false, reaped: { job: 2 }, isReporting: true })
    assert.ok(startedAt <= seenAt)
  })

  test('a process that is silent is told apart, and goes after a day', async () => {
    const [silent, gone, other] = [randomUUID(), randomUUID(), randomUUID()]
    for (const id of [silent, gone]) await database.workers.report({ ...aReport, id })
    await lastSeen(silent, '31 seconds')
    await lastSeen(gone, '25 hours')
    assert.equal((await find(silent))?.isReporting, false)
    await database.workers.report({ ...aReport, id: other })
    assert.ok((await find(silent)) && !(await find(gone)))
  })
})
