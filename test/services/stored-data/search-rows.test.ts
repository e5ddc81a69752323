import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSearchRows } from '../../../src/services/stored-data/search-rows.ts'

const place = { accountId: 'a', collection: 'c' }
const options = { limit: 3, signal: new AbortController().signal }

test('many prompts are searched a few at a time, and their rows stay in order', async () => {
  const sizes: number[] = []
  const searchRows = createSearchRows({
    nearest: (_, vectors) => {
      sizes.push(vectors.length)
      return Promise.resolve(vectors.map(([first]) => [{ text: String(first), similarity: 1 }]))
    },
  })
  const vectors = Array.from({ length: 45 }, (_, at) => [at])
  const found = await searchRows(place, vectors, options)
  assert.deepEqual(
    found.map((rows) => rows[0]?.text),
    vectors.map(([at]) => String(at)),
  )
  assert.deepEqual(sizes, [20, 20, 5])
})

test('a search that the database ended is 503 with a sentence, and any other failure stays what it is', async () => {
  const failing = (error: Error) => createSearchRows({ nearest: () => Promise.reject(error) })
  const late = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  await assert.rejects(failing(late)(place, [[1]], options), {
    code: 'unavailable',
    retryAfterSeconds: 5,
    message: /took longer than 10 seconds/,
  })
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
  await assert.rejects(failing(away)(place, [[1]], options), away)
})
