import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChunkResults } from '../../../src/domain/inference-batch.ts'
import { createBatchBeginnings } from '../../../src/services/batches/beginnings.ts'

const none = { finishReasons: '', errors: '', errorCount: 0 }
const chunk = (values: string, isFinal = true): ChunkResults => ({ values, step: 0, isFinal, ...none })

/** A batch whose chunks a worker adds to, and a count of those that were read. */
function open(beginnings: ReturnType<typeof createBatchBeginnings>, id: string, accountId = 'a') {
  const stored: ChunkResults[] = []
  const read: number[] = []
  const poll = () =>
    beginnings.read({ id, accountId }, async (first) => {
      const rest = stored.slice(first)
      read.push(rest.length)
      return rest
    })
  return { stored, read, poll }
}

test('a poll reads only new chunks, and shows all results', async () => {
  const { stored, read, poll } = open(createBatchBeginnings(), 'b')
  assert.deepEqual(await poll(), [])
  stored.push(chunk('1'), chunk('2'))
  assert.deepEqual(await poll(), stored)
  stored.push(chunk('3'))
  assert.deepEqual(await poll(), stored)
  assert.deepEqual(await poll(), stored)
  assert.deepEqual(read, [0, 2, 1, 0])
})

test('a chunk that still grows is read again', async () => {
  const { stored, read, poll } = open(createBatchBeginnings(), 'b')
  stored.push(chunk('1'), chunk('2', false), chunk('3'))
  await poll()
  stored[1] = chunk('22')
  assert.deepEqual(await poll(), stored)
  assert.deepEqual(read, [3, 2])
  await poll()
  assert.deepEqual(read, [3, 2, 0])
})

test('polls at once show the same', async () => {
  const { stored, poll } = open(createBatchBeginnings(), 'b')
  stored.push(chunk('1'), chunk('2'))
  for (const shown of await Promise.all([poll(), poll(), poll()])) assert.deepEqual(shown, stored)
  assert.deepEqual(await poll(), stored)
})

test('an account displaces its own beginnings only, and a large result is kept in part', async () => {
  const beginnings = createBatchBeginnings({ account: 2500, total: 100_000 })
  const [small, large, other] = [open(beginnings, 's'), open(beginnings, 'l'), open(beginnings, 'o', 'other')]
  for (const { stored } of [small, other]) stored.push(chunk('x'.repeat(500)))
  for (let index = 0; index < 4; index++) large.stored.push(chunk('y'.repeat(500)))
  for (const { poll } of [other, small, large, large, other, small]) await poll()
  assert.deepEqual(other.read, [1, 0])
  assert.deepEqual(large.read, [4, 2])
  assert.deepEqual(small.read, [1, 1])
})

test('a process keeps no more than its limit: the least recent account goes first', async () => {
  const beginnings = createBatchBeginnings({ account: 2000, total: 3000 })
  const batches = ['a', 'b', 'c', 'd'].map((name) => open(beginnings, name, name))
  for (const { stored, poll } of batches) {
    stored.push(chunk('x'.repeat(500)))
    await poll()
  }
  for (const { poll } of batches.toReversed()) await poll()
  assert.deepEqual(
    batches.map(({ read }) => read[1]),
    [1, 0, 0, 0],
  )
})

test('an ended batch is forgotten', async () => {
  const beginnings = createBatchBeginnings()
  const { stored, read, poll } = open(beginnings, 'b')
  stored.push(chunk('1'))
  await poll()
  beginnings.forget({ id: 'b', accountId: 'a' })
  beginnings.forget({ id: 'unknown', accountId: 'unknown' })
  await poll()
  assert.deepEqual(read, [1, 1])
})
