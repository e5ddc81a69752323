import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { layOutItems } from '../../../src/services/batches/lay-out-items.ts'

/** Reads the chunks as a worker does. */
async function readBack(items: readonly string[], mostCharacters = 1e6) {
  const { chunkSize, chunks, pieces } = await layOutItems(items, mostCharacters)
  const object = Buffer.concat(pieces)
  const read = chunks.map(
    ({ offset, sizeBytes }) => JSON.parse(object.toString('utf8', offset, offset + sizeBytes)) as string[],
  )
  assert.ok(read.slice(0, -1).every(({ length }) => length === chunkSize))
  assert.equal(
    chunks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    object.length,
  )
  return { chunkSize, sizes: read.map(({ length }) => length), items: read.flat() }
}

test('each chunk is JSON of its items, in order', async () => {
  for (const items of [['a'], Array.from({ length: 1000 }, (_, at) => `${at} "ü" 🎒\n\0`)]) {
    const read = await readBack(items)
    assert.equal(read.chunkSize, 128)
    assert.deepEqual(read.items, items)
  }
})

test('chunks of long items have fewer of them, but never so few that a workflow cannot hold the chunks', async () => {
  const { sizes, items } = await readBack(Array.from({ length: 100 }, () => 'x'.repeat(100_000)))
  assert.deepEqual(sizes, [41, 41, 18])
  assert.equal(items.length, 100)
  assert.deepEqual((await readBack(['x'.repeat(9e6), ...Array.from({ length: 31 }, () => 'a')], 1e7)).sizes, [16, 16])
})

test('keeps of a text that is too long for its model only enough to show it', async () => {
  assert.deepEqual((await readBack(['12345', '123456', '12345678'], 5)).items, ['12345', '123456', '123456'])
})

test('others get their turns while many or long items are written', async () => {
  for (const items of [Array.from({ length: 10_000 }, () => 'x'.repeat(500)), ['x'.repeat(5e6)]]) {
    let isDone = false
    const writing = layOutItems(items, 1e7).finally(() => (isDone = true))
    let turns = 0
    for (; !isDone; turns++) await nextTurn()
    await writing
    assert.ok(turns > 10, `${turns} turns`)
  }
})
