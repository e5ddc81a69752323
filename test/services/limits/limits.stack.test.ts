// Limits on the real database: what holds when several api processes share them.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeApiKey } from '../../../src/domain/identifiers.ts'
import { createLog } from '../../../src/log.ts'
import { itemHash } from '../../../src/domain/stored-data.ts'
import { connectDatabase } from '../../../src/repositories/database.ts'
import { connectRateLimits } from '../../../src/repositories/rate-limits.ts'
import { requireRoomForData } from '../../../src/services/limits/account-quotas.ts'
import { createLimits } from '../../../src/services/limits/limits.ts'
import { createRequestBuckets } from '../../../src/services/limits/request-buckets.ts'
import { startPublic } from '../../http/support.ts'
import { createOperator } from '../../support/operator.ts'
import { eventually } from '../../support/eventually.ts'
import { connection } from '../../support/stack.ts'
import { contextOf } from '../../support/service-context.ts'

const log = createLog('test', 'silent')
const settings = {
  requests: { perSecond: 50, burst: 20 },
  concurrentRequests: 3,
  failedAuthenticationsPerMinute: 5,
  judgeTokensPerDay: 100,
}

type Judged = ReturnType<typeof createLimits>['judgeTokens']

suite('limits', async () => {
  const { databaseUrl } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 12 })
  const account = await createOperator().openAccount()
  const store = connectRateLimits(databaseUrl)
  after(() => Promise.all([database.close(), store.close()]))

  /** An api process of its own as far as limits go. */
  async function replica() {
    const limits = createLimits({ store: connectRateLimits(databaseUrl), settings, log })
    after(() => limits.close())
    return startPublic({ database: { ...database }, limits }, { trustedProxies: ['loopback'] })
  }

  test('a key gets its burst at once, then 429 with Retry-After, then its rate', async () => {
    const edge = await replica()
    const { key } = await account.makeKey(['read'])
    const ask = () => edge.call('GET', '/v1/get-upload-base-path', { key })
    // A busy machine may send more slowly than the rate allows.
    const first = await eventually(async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, ask))
      return answers.find(({ status }) => status === 429)
    })
    assert.equal(first.headers['content-type'], 'application/problem+json')
    assert.ok(Number(first.headers['retry-after']) >= 1)
    assert.equal(first.json.code, 'rate_limited')
    await eventually(async () => (await ask()).status !== 429)
  })

  test('a key has no more requests running in a process than it may', async () => {
    const limits = createLimits({ store: connectRateLimits(databaseUrl), settings, log })
    after(() => limits.close())
    const [key, other] = [randomUUID(), randomUUID()]
    const ends = [limits.beginRequest(key), limits.beginRequest(key), limits.beginRequest(key)]
    assert.throws(() => limits.beginRequest(key), { code: 'rate_limited' })
    limits.beginRequest(other)()
    ends[0]?.()
    limits.beginRequest(key)()
  })

  test('processes share the tokens that the judges of an account have used, also those beyond the limit', async () => {
    const [one, other] = [0, 1].map(() => {
      const limits = createLimits({ store: connectRateLimits(databaseUrl), settings, log })
      after(() => limits.close())
      return limits.judgeTokens
    }) as [Judged, Judged]
    const accountId = randomUUID()
    assert.deepEqual(await one.usedBy(accountId), { used: 0, untilMs: 0 })
    for (const judged of [one, other, one]) await judged.count(accountId, 60)
    const { used, untilMs } = await other.usedBy(accountId)
    assert.equal(used, 180)
    assert.ok(untilMs > 0 && untilMs <= 86_400_000)
  })

  test('two processes together grant the rate, and each its burst once', async () => {
    const key = `test:${randomUUID()}`
    const rate = { perSecond: 200, burst: 40 }
    const buckets = [0, 1].map(() => createRequestBuckets({ rate, charge: (charges) => store.charge(charges), log }))
    const startedAt = performance.now()
    let granted = 0
    while (granted < rate.burst * 15) {
      for (const bucket of buckets) for (let n = 0; n < 10; n++) if (bucket.take(key) === 0) granted++
      await sleep(5)
    }
    const seconds = (performance.now() - startedAt) / 1000
    await Promise.all(buckets.map((bucket) => bucket.close()))
    assert.ok(granted <= rate.perSecond * seconds + rate.burst * 2, `${granted} in ${seconds} s`)
  })

  test('a database that is away refuses no request, and each process holds the limit', async () => {
    const charge = () => Promise.reject(new Error('away'))
    const buckets = createRequestBuckets({ rate: { perSecond: 10, burst: 5 }, charge, log })
    assert.deepEqual(
      Array.from({ length: 7 }, () => buckets.take('key') > 0),
      [false, false, false, false, false, true, true],
    )
    await buckets.close()
  })

  test('the wait that is named is the wait that is needed', () => {
    let nowMs = 0
    const charge = () => Promise.resolve(new Map<string, number>())
    const buckets = createRequestBuckets({ rate: { perSecond: 10, burst: 5 }, charge, log, now: () => nowMs })
    while (buckets.take('key') === 0) nowMs += 1
    const waitMs = buckets.take('key')
    nowMs += waitMs - 0.001
    assert.ok(buckets.take('key') > 0)
    nowMs += 0.002
    assert.equal(buckets.take('key'), 0)
  })

  test('failed authentications of an address are limited over all processes; a valid key from it is not refused', async () => {
    const replicas = await Promise.all([replica(), replica()])
    const [one, two] = replicas
    assert.ok(one && two)
    const address = `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`
    const from = (key: string | null) => ({ key, headers: { 'x-forwarded-for': address } })
    const statuses: number[] = []
    for (let n = 0; n < 8; n++)
      statuses.push((await (n % 2 ? one : two).call('GET', '/v1/get-upload-base-path', from(makeApiKey()))).status)
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429])
    const neighbour = { key: makeApiKey(), headers: { 'x-forwarded-for': address.replace('::1', '::2') } }
    const refused = await one.call('GET', '/v1/get-upload-base-path', neighbour)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers['retry-after']) > 0 && Number(refused.headers['retry-after']) <= 60)
    const { key } = await account.makeKey(['data'])
    assert.equal((await one.call('GET', '/v1/get-upload-base-path', from(key))).status, 200)
    assert.equal((await one.call('GET', '/v1/get-upload-base-path', from(null))).status, 401)
  })

  test('an account stores no more once it has stored as much as it may', async () => {
    const ctx = limited({ maxOpenJobs: 3, maxStoredBytes: 1000 })
    await requireRoomForData(ctx)
    const id = randomUUID()
    await database.datasets.createVersion({ id, accountId: account.id, datasetId: id, version: 1, uploadKey: id })
    await database.datasets.noteSize(id, 1000)
    await assert.rejects(requireRoomForData(ctx), { code: 'quota_exceeded' })
  })

  test('rows kept under an id count as bytes in the database with their vectors, once each, until they are deleted', async () => {
    const { id } = await database.accounts.create('stored bytes')
    const place = { accountId: id, collection: 'facts' }
    const rowOf = (text: string) => {
      const item = [{ name: 'fact', fields: [['text', text]] as [string, string][] }]
      return { item, text, hash: itemHash(item) }
    }
    const add = () => database.storedRows.add(place, ['a'.repeat(1000), 'b'.repeat(1000)].map(rowOf))
    await Promise.all([add(), add(), add()])
    const bytes = await database.accounts.rowBytes(id)
    assert.ok(bytes > 11_000 && bytes < 11_200, String(bytes))
    await database.storedRows.add({ ...place, collection: 'other' }, [rowOf('c')])
    assert.equal(await database.storedRows.remove(place), 2)
    assert.ok((await database.accounts.rowBytes(id)) < 3600)
    assert.equal(await database.storedRows.remove(place), 0)
    await database.storedRows.remove({ ...place, collection: 'other' })
    assert.equal(await database.accounts.rowBytes(id), 0)
  })

  const limited = (quotas: { maxOpenJobs: number; maxStoredBytes: number }) =>
    contextOf({ deps: { database, settings: quotas }, accountId: account.id })
})
