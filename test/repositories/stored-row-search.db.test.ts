// Searches of stored rows on the real database, with limits so small that a few hundred rows reach them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { connectDatabase } from '../../src/repositories/database.ts'
import { connectStoredRowSearch } from '../../src/repositories/stored-row-search.ts'
import type { Collection } from '../../src/repositories/stored-rows.ts'
import { until } from '../support/eventually.ts'
import { connection } from '../support/stack.ts'

suite('searches of stored rows', () => {
  const { databaseUrl } = connection()
  const database = connectDatabase(databaseUrl, { poolSize: 2 })
  const client = new pg.Client({ connectionString: databaseUrl })
  const search = { connections: 1, timeoutMs: 60_000 }
  const byRow = connectStoredRowSearch(databaseUrl, search)
  const byIndex = connectStoredRowSearch(databaseUrl, { ...search, exactRows: 0 })
  const byShortIndex = connectStoredRowSearch(databaseUrl, { ...search, exactRows: 0, indexRows: 1 })
  let [mine, other] = [
    { accountId: '', collection: 'docs' },
    { accountId: '', collection: 'docs' },
  ]

  before(async () => {
    await client.connect()
    mine = await storeRandomRows(300, [0, 1])
    // All of these are nearer to the queries than any row of `mine`.
    other = await storeRandomRows(400, [1, 0])
  })
  after(async () => {
    for (const place of [mine, other]) await database.storedRows.remove(place)
    await Promise.all([database, byRow, byIndex, byShortIndex].map((each) => each.close()))
    await client.end()
  })

  /** Vectors around a centre, from a seeded generator, so that every run sees the same rows. */
  async function storeRandomRows(count: number, centre: [number, number]): Promise<Collection> {
    const place = { accountId: (await database.accounts.create('search')).id, collection: 'docs' }
    const texts = Array.from({ length: count }, (_, at) => `row ${at}`)
    await database.storedRows.add(
      place,
      texts.map((text) => ({ hash: Buffer.from(text), item: [], text })),
    )
    const { rows } = await client.query<{ id: string; text: string }>(
      `update stored_rows set claimed_until = 'infinity' where account_id = $1 returning id::text, text`,
      [place.accountId],
    )
    const made = rows.map(({ id, text }) => ({ id, vector: vectorOf(Number(text.slice(4)), centre) }))
    await database.storedRows.setEmbeddings(made)
    return place
  }

  async function scansOfIndex(): Promise<number> {
    const { rows } = await client.query<{ scans: string }>(
      `select idx_scan as scans from pg_stat_user_indexes where indexrelname = 'stored_rows_nearest_idx'`,
    )
    return Number(rows[0]?.scans)
  }

  const queries = Array.from({ length: 10 }, (_, at) => vectorOf(1000 + at, [1, 0.2]))

  // The first test, because connections report their scans late.
  test('an id with many rows is searched with the index, an id with few rows is not', async () => {
    const before = await scansOfIndex()
    const one = connectStoredRowSearch(databaseUrl, { ...search, exactRows: 350 })
    await one.nearest(mine, queries, 3)
    await one.nearest(other, queries, 3)
    // A connection reports its scans at the latest when it ends.
    await one.close()
    await until('one scan for each prompt', async () => (await scansOfIndex()) - before === queries.length)
  })

  test('the index finds the same rows as a comparison with every row', async () => {
    const [exact, indexed] = [await byRow.nearest(mine, queries, 3), await byIndex.nearest(mine, queries, 3)]
    const found = exact.flatMap((rows, at) => rows.filter(({ text }) => indexed[at]?.some((hit) => hit.text === text)))
    assert.equal(exact.flat().length, 30)
    assert.equal(indexed.flat().length, 30)
    assert.ok(found.length >= 28, `${found.length} of 30`)
  })

  test('nearer rows of another account hide none: what the index does not reach is compared row by row', async () => {
    // Twelve are chosen among 120 rows. One scan of the index gives 100, so the index never has enough.
    assert.deepEqual(await byShortIndex.nearest(mine, queries, 12), await byRow.nearest(mine, queries, 12))
  })

  test('rows are nearest first, with their similarity, and of this account and id only', async () => {
    const [nearest] = await byRow.nearest(mine, [vectorOf(7, [0, 1])], 2)
    assert.equal(nearest?.[0]?.text, 'row 7')
    assert.ok(Math.abs((nearest?.[0]?.similarity ?? 0) - 1) < 1e-5)
    assert.ok((nearest?.[1]?.similarity ?? 1) < 1)
    assert.deepEqual(await byRow.nearest({ ...mine, collection: 'none' }, queries.slice(0, 1), 3), [[]])
  })

  test('a search that takes longer than its time is ended by the server', async () => {
    const hasty = connectStoredRowSearch(databaseUrl, { connections: 1, timeoutMs: 1 })
    const many = Array.from({ length: 400 }, (_, at) => vectorOf(at, [1, 0]))
    await assert.rejects(hasty.nearest(mine, many, 3), { code: '57014' })
    await hasty.close()
  })

  test('rows of an id are counted after every addition and removal, also twice and at once', async () => {
    const place = { accountId: (await database.accounts.create('count')).id, collection: 'docs' }
    const row = (text: string) => ({ hash: Buffer.from(text), item: [], text })
    assert.equal(await database.storedRows.count(place), 0)
    await Promise.all([1, 2, 3].map((n) => database.storedRows.add(place, ['same', `own ${n}`].map(row))))
    assert.equal(await database.storedRows.count(place), 4)
    await client.query('delete from stored_rows where account_id = $1 and text = $2', [place.accountId, 'same'])
    assert.equal(await database.storedRows.count(place), 3)
    await database.storedRows.remove(place)
    assert.equal(await database.storedRows.count(place), 0)
    const { rows } = await client.query('select from stored_collections where account_id = $1', [place.accountId])
    assert.equal(rows.length, 0)
  })

  test('the database counts as ready while every connection of the pool is busy', async () => {
    const busy = connectDatabase(databaseUrl, { poolSize: 1 })
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const holding = busy.transaction(async (tx) => {
      await tx.accounts.hold(randomUUID())
      begun.resolve()
      await held.promise
    })
    await begun.promise
    await Promise.all([busy.check(), busy.check()])
    held.resolve()
    await holding
    await busy.close()
  })
})

/** A vector of 384 numbers near a centre in its first two dimensions. */
function vectorOf(seed: number, [x, y]: [number, number]): number[] {
  let state = seed + 1
  const noise = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647 - 0.5
  }
  return Array.from({ length: 384 }, (_, at) => (at === 0 ? x : at === 1 ? y : 0) + 0.05 * noise())
}
