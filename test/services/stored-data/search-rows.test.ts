import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredRowSearch } from '../../../src/repositories/stored-row-search.ts'
import { createSearchRows } from '../../../src/services/stored-data/search-rows.ts'

const place = { accountId: 'a', collection: 'c' }
const embed = () => Promise.resolve([[1]])
const alone = { isShared: () => false }
const options = { limit: 3, signal: new AbortController().signal }

test('many prompts are searched a few at a time, and their rows stay in order', async () => {
  const sizes: number[] = []
  const nearest: StoredRowSearch['nearest'] = (_, vectors) => {
    sizes.push(vectors.length)
    return Promise.resolve(vectors.map(([first]) => [{ text: String(first), similarity: 1 }]))
  }
  const searchRows = createSearchRows({ nearest }, alone)
  const vectors = Array.from({ length: 45 }, (_, at) => [at])
  const found = await searchRows(place, () => Promise.resolve(vectors), options)
  assert.deepEqual(
    found.map((rows) => rows[0]?.text),
    vectors.map(([at]) => String(at)),
  )
  assert.deepEqual(sizes, [20, 20, 5])
})

test('a search that the database ended is 503 with a sentence, and any other failure stays unchanged', async () => {
  const failing = (error: Error) => createSearchRows({ nearest: () => Promise.reject(error) }, alone)
  const late = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  await assert.rejects(failing(late)(place, embed, options), {
    code: 'unavailable',
    retryAfterSeconds: 5,
    message: /took longer than 10 seconds/,
  })
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
  await assert.rejects(failing(away)(place, embed, options), away)
})

test('an account embeds and searches one thing at a time while others use the process', async () => {
  let isShared = true
  const running = { now: 0, most: 0 }
  const embedSlowly = async () => {
    running.most = Math.max(running.most, ++running.now)
    await new Promise((resolve) => setImmediate(resolve))
    running.now--
    return [[1]]
  }
  const nearest = () => Promise.resolve([[]])
  const searchRows = createSearchRows({ nearest }, { isShared: () => isShared })
  const searchThrice = () => Promise.all([1, 2, 3].map(() => searchRows(place, embedSlowly, options)))
  await searchThrice()
  assert.equal(running.most, 1)
  isShared = false
  await searchThrice()
  assert.equal(running.most, 3)
})
