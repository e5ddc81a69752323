// Keeping and deleting rows over HTTP, and the workers that embed them, on the real database.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { createLog } from '../../../src/log.ts'
import { connectDatabase } from '../../../src/repositories/database.ts'
import { listenToNotifications } from '../../../src/repositories/notifications.ts'
import { rowEmbedder } from '../../../src/loops/row-embedder.ts'
import { runLoop } from '../../../src/loops/run-loop.ts'
import { createHasRows } from '../../../src/services/stored-data/has-rows.ts'
import { connection, openAccount, type Api } from '../../support/stack.ts'
import { eventually } from '../../support/eventually.ts'

type Problem = { detail: string; errors: { path: string }[] }

const row = (text: string) => ({ fact: { text } })
const pair = (input: string, output: string) => ({ question: { text: input }, answer: { text: output } })

suite('stored data', () => {
  const client = new pg.Client({ connectionString: connection().databaseUrl })
  let account: Api | undefined
  const api = () => account ?? assert.fail('no account')

  before(async () => {
    await client.connect()
    account = await openAccount()
  })
  after(() => client.end())

  const store = (body: object) => api().post<{ dataset: string }>('/v1/svc/data', body)
  const deleted = (id: string) => api().post('/v1/svc/delete_data', { id })

  test('answers with the same 32 hex digits each time, under every name of the route', async () => {
    const id = randomUUID()
    const { dataset } = await store({ id, data: [row('one')] })
    assert.match(dataset, /^[0-9a-f]{32}$/)
    assert.deepEqual(await api().post('/v1/lamini/data', { id, data: [row('two')] }), { dataset })
    assert.deepEqual(await api().post('/v1/lamini/delete_data', { id }), { deleted: 2 })
    const other = await openAccount()
    assert.notEqual((await other.post<{ dataset: string }>('/v1/svc/data', { id, data: row('one') })).dataset, dataset)
  })

  test('keeps the same row once, in any order of its fields', async () => {
    const id = randomUUID()
    await store({ id, data: [{ a: { x: 1, y: 'z' } }, { a: { y: 'z', x: 1 } }, { a: { x: 2, y: 'z' } }] })
    await Promise.all([0, 1, 2].map(() => store({ id, data: { a: { y: 'z', x: 1 } } })))
    assert.deepEqual(await deleted(id), { deleted: 2 })
  })

  test('takes texts, numbers and booleans, a single item or many, and types of data_type', async () => {
    const id = randomUUID()
    await store({ id, model_name: 'any', data: { a: { s: 'é "\n', i: 3, f: 0.5, b: false } } })
    await store({
      id,
      data: [pair('q', ''), pair('r', 's')],
      data_type: { question: { text: 'what is asked' }, answer: { text: 'the answer' } },
    })
    await store({ id, data: Array.from({ length: 1200 }, (_, index) => row(`row ${index}`)) })
    assert.deepEqual(await deleted(id), { deleted: 1203 })
    assert.deepEqual(await deleted('any'), { deleted: 0 })
  })

  test('refuses malformed data by its place, and keeps nothing of the request', async () => {
    const id = randomUUID()
    const wrong: [string, object][] = [
      ['id', { data: row('a') }],
      ['id', { id: '', data: row('a') }],
      ['id', { id: 'ü'.repeat(129), data: row('a') }],
      ['id', { id: 'a\0b', data: row('a') }],
      ['id', { id: 5, data: row('a') }],
      ['id', { model_name: '', data: row('a') }],
      ['model_name', { model_name: 5, data: row('a') }],
      ['data', { id }],
      ['data', { id, data: [] }],
      ['data', { id, data: null }],
      ['data', { id, data: 'text' }],
      ['data[0]', { id, data: {} }],
      ['data[0]', { id, data: { a: { x: 1 }, b: { x: 1 }, c: { x: 1 } } }],
      ['data[0].a', { id, data: { a: {} } }],
      ['data[0].a', { id, data: { a: 'text' } }],
      ['data[0].a.x', { id, data: { a: { x: null } } }],
      ['data[0].a.x', { id, data: { a: { x: ['y'] } } }],
      ['data[1]', { id, data: [row('a'), pair('a', 'b')] }],
      ['data[1]', { id, data: [row('a'), { fact: { other: 'a' } }] }],
      ['data[2]', { id, data: [row('a'), row('b'), 7] }],
      ['data_type', { id, data: row('a'), data_type: { fact: { words: 'd' } } }],
      ['data_type', { id, data: row('a'), data_type: { other: { text: 'd' } } }],
      ['data[0]', { id, data: [{ fact: { text: 'a\0b' } }] }],
    ]
    for (const [path, body] of wrong) {
      const { status, body: problem } = await api().request<Problem>('POST', '/v1/svc/data', body)
      assert.equal(status, 400, JSON.stringify(body))
      assert.equal(problem.errors[0]?.path.replace(/^data\.0/, 'data[0]'), path, problem.detail)
    }
    assert.deepEqual(await deleted(id), { deleted: 0 })
    assert.equal((await api().request('POST', '/v1/svc/delete_data', {})).status, 400)
    assert.equal((await fetch(`${connection().apiUrl}/v1/svc/data`, { method: 'POST' })).status, 401)
  })

  test('an Idempotency-Key replays the answer and refuses another body', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const id = randomUUID()
    const first = await api().request('POST', '/v1/svc/data', { id, data: row('a') }, headers)
    assert.deepEqual((await api().request('POST', '/v1/svc/data', { id, data: row('a') }, headers)).body, first.body)
    assert.equal((await api().request('POST', '/v1/svc/data', { id, data: row('b') }, headers)).status, 422)
    assert.deepEqual(await deleted(id), { deleted: 1 })
  })

  test('a training request whose id has no rows, or that also names a file, is refused', async () => {
    const train = (body: object) =>
      api().request<Problem>('POST', '/v1/train', { model_name: connection().baseModel, ...body })
    const { status, body } = await train({ id: randomUUID() })
    assert.equal(status, 400)
    assert.equal(body.errors[0]?.path, 'id')
    const id = randomUUID()
    await store({ id, data: [pair('a', 'b')] })
    assert.equal((await train({ id, upload_file_path: 'some-file' })).body.errors[0]?.path, 'upload_file_path')
  })

  test('forgets that an account has no rows with the first stored row, not only after a time', async () => {
    const { databaseUrl } = connection()
    const [database, notifications] = [
      connectDatabase(databaseUrl, { poolSize: 1 }),
      listenToNotifications(databaseUrl),
    ]
    // The clock stands still, so nothing grows old.
    const hasRows = createHasRows({ database, notifications }, () => 0)
    await notifications.next('stored_rows', { timeoutMs: 5000 })
    const { id: accountId } = await database.accounts.create('stores one row')
    const place = { accountId, collection: 'facts' }
    assert.equal(await hasRows(place), false)
    await database.storedRows.add(place, [{ hash: Buffer.from('one'), item: [], text: 'one' }])
    await eventually(() => hasRows(place))
    await Promise.all([notifications.close(), database.close()])
  })

  test('workers share the waiting rows: each row is embedded once, and rows of a failed worker are not lost', async () => {
    const id = randomUUID()
    const stopping = new AbortController()
    const texts: string[] = []
    let failures = 0
    const work = async () => {
      const database = connectDatabase(connection().databaseUrl, { poolSize: 2 })
      const loop = rowEmbedder({
        database,
        notifications: {
          on: (_channel, wake) => {
            const timer = setInterval(wake, 20)
            return () => clearInterval(timer)
          },
        },
        embed: (_accountId, some) => {
          if (++failures % 3 === 1) return Promise.reject(new Error('the embedder is away'))
          texts.push(...some)
          return Promise.resolve(some.map(() => Array.from({ length: 384 }, (_, at) => (at === 0 ? 1 : 0))))
        },
      })
      await runLoop(loop, { log: createLog('test', 'silent'), signal: stopping.signal })
      await database.close()
    }
    const workers = [work(), work()]
    await store({ id, data: Array.from({ length: 2000 }, (_, index) => row(`${id} ${index}`)) })
    await eventually(async () => {
      const { rows } = await client.query<{ waiting: string }>(
        'select count(*) as waiting from stored_rows where collection = $1 and embedding is null',
        [id],
      )
      return rows[0]?.waiting === '0'
    })
    stopping.abort()
    await Promise.all(workers)
    const ours = texts.filter((text) => text.startsWith(id))
    assert.ok(ours.length > 0)
    assert.equal(new Set(ours).size, ours.length)
    assert.deepEqual(await deleted(id), { deleted: 2000 })
  })

  test('a large set does not keep the rows of another account waiting', async () => {
    const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    const other = await openAccount()
    const [large, small] = [randomUUID(), randomUUID()]
    await store({ id: large, data: Array.from({ length: 3000 }, (_, index) => row(`${large} ${index}`)) })
    await other.post('/v1/svc/data', { id: small, data: row(small) })
    let claims = 0
    const seen = async () => {
      claims++
      const rows = await database.transaction((tx) => tx.storedRows.claimWaiting(10))
      const { rows: left } = await client.query(
        'select 1 from stored_rows where collection = $1 and embedding is null',
        [small],
      )
      return left.length === 0 || rows.some(({ text }) => text === small)
    }
    await eventually(seen)
    await database.close()
    assert.ok(claims < 100)
    await deleted(large)
  })

  test('an embedding waits for no deletion, which may wait for another embedding', async () => {
    const id = randomUUID()
    await store({ id, data: [row('going'), row('staying')] })
    // Out of the hands of the running workers.
    const { rows } = await client.query<{ id: string }>(
      `update stored_rows set embedding = null, claimed_until = 'infinity' where collection = $1 returning id::text`,
      [id],
    )
    const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    await client.query('begin')
    await client.query('delete from stored_rows where id = $1', [rows[0]?.id])
    const vector = Array.from({ length: 384 }, () => 0.1)
    await database.storedRows.setEmbeddings(rows.map((one) => ({ ...one, vector })))
    await client.query('commit')
    await database.close()
    const left = await client.query('select embedding is not null as made from stored_rows where collection = $1', [id])
    assert.deepEqual(left.rows, [{ made: true }])
    await deleted(id)
  })
})
