import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runConcurrently, splitIntoChunks } from '../../src/inference/chunks.ts'

const never = new AbortController().signal

describe('chunks', () => {
  it('keep order and lose nothing, bounded in items and characters', () => {
    const items = Array.from({ length: 1000 }, (_, at) => 'x'.repeat((at * 7919) % 5000))
    const chunks = splitIntoChunks(items, 64, (item) => item.length)
    assert.deepEqual(chunks.flat(), items)
    assert.ok(chunks.every((chunk) => chunk.length <= 64))
    const large = splitIntoChunks(['a', 'x'.repeat(2 << 20), 'b'], 64, (item) => item.length)
    assert.deepEqual(
      large.map((chunk) => chunk.length),
      [1, 1, 1],
    )
    assert.deepEqual(
      splitIntoChunks([], 64, () => 1),
      [],
    )
  })

  it('run a few at once', async () => {
    let running = 0
    let most = 0
    await runConcurrently(Array.from({ length: 20 }), never, async () => {
      most = Math.max(most, ++running)
      await sleep(1)
      running -= 1
    })
    assert.equal(most, 4)
  })

  it('end with the first failure, the others aborted and ended by then', async () => {
    let running = 0
    const run = runConcurrently([1, 2, 3, 4, 5, 6, 7, 8], never, async (item, signal) => {
      running += 1
      try {
        if (item === 3) throw new Error('third')
        await sleep(10_000, undefined, { signal })
      } finally {
        running -= 1
      }
    })
    await assert.rejects(run, /third/)
    assert.equal(running, 0)
  })

  it('end with the signal', async () => {
    const leaving = new AbortController()
    const run = runConcurrently([1, 2], leaving.signal, (_, signal) => sleep(10_000, undefined, { signal }))
    leaving.abort(new Error('left'))
    await assert.rejects(run, /left/)
  })
})
