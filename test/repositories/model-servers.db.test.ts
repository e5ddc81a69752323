// The rows of replicas, on the real database.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import pg from 'pg'
import { sha256 } from '../../src/domain/identifiers.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { listenToNotifications } from '../../src/repositories/notifications.ts'
import { connection } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

suite('replicas of a model server', async () => {
  const { databaseUrl } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 4 })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const opened: string[] = []
  after(async () => {
    await client.query('delete from model_servers where base_model = any($1)', [opened])
    await Promise.all([client.end(), database.close()])
  })
  const { modelServers } = database

  async function open(generation = 1, baseModel = `test-${randomUUID()}`) {
    opened.push(baseModel)
    const tokenHash = sha256(`${baseModel} ${generation}`)
    await modelServers.openLaunch({ baseModel, generation, tokenHash })
    return { baseModel, generation, tokenHash }
  }
  const report = (tokenHash: Uint8Array, instance: string, url = `http://${instance}:8000`) =>
    modelServers.reportReady(tokenHash, { instance, url, engine: 'transformers', version: '0.1.0' })
  const served = async (baseModel: string) => {
    const server = (await modelServers.findServed(baseModel)) ?? assert.fail('no such server')
    return { state: server.state, urls: server.replicas.map(({ url }) => url) }
  }

  test('each reports for itself, and the first makes the server ready', async () => {
    const { baseModel, tokenHash } = await open()
    assert.deepEqual(await served(baseModel), { state: 'starting', urls: [] })
    for (const instance of ['b', 'a', 'a']) assert.equal(await report(tokenHash, instance), true)
    assert.deepEqual(await served(baseModel), { state: 'ready', urls: ['http://a:8000', 'http://b:8000'] })
    await report(tokenHash, 'a', 'http://elsewhere')
    assert.deepEqual((await served(baseModel)).urls, ['http://elsewhere', 'http://b:8000'])
  })

  test('keeps what a program tells of its loading until it is ready', async () => {
    const { tokenHash, ...launch } = await open()
    const told = async () => (await modelServers.find(launch.baseModel))?.message
    await modelServers.noteLoading(tokenHash, 'Fetching x: 3 of 9 MB.')
    await modelServers.noteWait(launch, { reason: 'starting', message: null })
    assert.equal(await told(), 'Fetching x: 3 of 9 MB.')
    await report(tokenHash, 'a')
    await modelServers.noteLoading(tokenHash, 'Fetching x: 9 of 9 MB.')
    assert.equal(await told(), null)
  })

  test('wakes waiting callers by news only', async () => {
    const notifications = listenToNotifications(databaseUrl)
    let count = 0
    notifications.on('model_servers', () => (count += 1))
    await eventually(() => count > 0)
    const { tokenHash } = await open()
    // Other servers of the stack may speak, too: what counts is that ours does for news and not for repeats.
    const countOf = async (work: () => Promise<unknown>) => {
      const before = count
      await work()
      await client.query('select 1')
      return count - before
    }
    await report(tokenHash, 'a')
    await eventually(async () => (await countOf(() => report(tokenHash, 'a'))) === 0)
    const before = count
    await report(tokenHash, 'b')
    await eventually(() => count > before)
    await notifications.close()
  })

  test('removes the row of a replica that leaves, and no other row', async () => {
    const { baseModel, generation, tokenHash } = await open()
    for (const instance of ['a', 'b', 'c']) await report(tokenHash, instance)
    assert.equal(await modelServers.removeReplica(tokenHash, 'a'), true)
    assert.equal(await modelServers.removeReplica(tokenHash, 'a'), true, 'twice is fine')
    assert.equal(await modelServers.removeReplica(sha256('unknown'), 'b'), false)
    assert.deepEqual(await served(baseModel), { state: 'ready', urls: ['http://b:8000', 'http://c:8000'] })
    await modelServers.removeReplicas({ baseModel, generation }, ['b', 'd'])
    assert.deepEqual((await served(baseModel)).urls, ['http://c:8000'])
  })

  test('those of an older launch are gone and can say nothing', async () => {
    const first = await open()
    await report(first.tokenHash, 'a')
    await open(2, first.baseModel)
    assert.equal(await report(first.tokenHash, 'a'), false)
    assert.deepEqual(await served(first.baseModel), { state: 'starting', urls: [] })
    const { rows } = await client.query('select 1 from model_server_endpoints where base_model = $1', [first.baseModel])
    assert.equal(rows.length, 0)
  })

  test('a late launch takes nothing back from a newer launch, nor from itself', async () => {
    const { baseModel, tokenHash } = await open(2)
    await report(tokenHash, 'a')
    for (const late of [1, 2]) await open(late, baseModel)
    assert.equal((await modelServers.find(baseModel))?.generation, 2)
    assert.deepEqual(await served(baseModel), { state: 'ready', urls: ['http://a:8000'] })
    assert.equal(await report(tokenHash, 'b'), true)
  })

  test('a server that stops has none, and takes none back', async () => {
    const { baseModel, generation, tokenHash } = await open()
    await report(tokenHash, 'a')
    await modelServers.setState(
      { baseModel, generation: generation - 1 },
      { state: 'stopped', reason: null, message: null },
    )
    assert.deepEqual((await served(baseModel)).urls, ['http://a:8000'], 'an older one does not speak for it')
    await modelServers.setState({ baseModel, generation }, { state: 'stopping', reason: 'idle', message: null })
    assert.equal(await report(tokenHash, 'a'), false)
    assert.deepEqual(await served(baseModel), { state: 'stopping', urls: [] })
  })

  test('reports the reason of a wait until the server is ready', async () => {
    const { baseModel, generation, tokenHash } = await open()
    const wait = { reason: 'unschedulable', message: 'No node has enough memory free.' }
    await modelServers.noteWait({ baseModel, generation: 2 }, wait)
    assert.equal((await modelServers.find(baseModel))?.message, null)
    await modelServers.noteWait({ baseModel, generation }, wait)
    const said = await modelServers.find(baseModel)
    assert.deepEqual({ reason: said?.reason, message: said?.message }, wait)
    await report(tokenHash, 'a')
    await modelServers.noteWait({ baseModel, generation }, wait)
    assert.deepEqual(await served(baseModel), { state: 'ready', urls: ['http://a:8000'] })
    assert.equal((await modelServers.find(baseModel))?.message, null)
  })

  test('marks a replica that has been silent for 90 seconds', async () => {
    const { baseModel, tokenHash } = await open()
    await report(tokenHash, 'a')
    await report(tokenHash, 'b')
    await client.query(
      `update model_server_endpoints set seen_at = now() - interval '91 seconds' where base_model = $1 and instance = 'a'`,
      [baseModel],
    )
    const { replicas } = (await modelServers.findServed(baseModel)) ?? assert.fail('no such server')
    assert.deepEqual(
      replicas.map(({ instance, isReporting }) => ({ instance, isReporting })),
      [
        { instance: 'a', isReporting: false },
        { instance: 'b', isReporting: true },
      ],
    )
  })
})
