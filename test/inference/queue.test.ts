import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createQueue } from '../../src/inference/queue.ts'

const never = new AbortController().signal
const turn = (rows: number) => ({ baseModel: 'tiny', rows, maxRows: 128 })
const settled = () => new Promise(setImmediate)

/** Calls that end when told to. */
function createCalls(queue: ReturnType<typeof createQueue>) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  return {
    started,
    add: (name: string, rows: number, signal = never) =>
      queue.inTurn(turn(rows), signal, () => {
        started.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      }),
    async end(name: string) {
      ends.get(name)?.()
      await settled()
    },
  }
}

describe('the queue of a model', () => {
  it('lets calls through in order, up to the rows that the engines may have', async () => {
    const queue = createQueue()
    await queue.accept('tiny', 300, async () => {
      const calls = createCalls(queue)
      for (const name of ['a', 'b', 'c', 'd']) void calls.add(name, 64)
      await settled()
      assert.deepEqual(calls.started, ['a', 'b'])
      await calls.end('b')
      assert.deepEqual(calls.started, ['a', 'b', 'c'])
      await calls.end('a')
      assert.deepEqual(calls.started, ['a', 'b', 'c', 'd'])
    })
  })

  it('has room for a single prompt while large calls wait, though not without end', async () => {
    const queue = createQueue()
    await queue.accept('tiny', 300, async () => {
      const calls = createCalls(queue)
      for (const name of ['a', 'b', 'c']) void calls.add(name, 64)
      for (let count = 0; count < 40; count++) void calls.add(`single ${count}`, 1)
      await settled()
      assert.equal(calls.started.length, 2 + 32)
      assert.ok(!calls.started.includes('c'))
    })
  })

  it('takes what is larger than its limit when nothing else runs', async () => {
    const queue = createQueue()
    await queue.accept('tiny', 1000, async () => {
      const calls = createCalls(queue)
      void calls.add('huge', 1000)
      void calls.add('next', 5)
      await settled()
      assert.deepEqual(calls.started, ['huge'])
      await calls.end('huge')
      assert.deepEqual(calls.started, ['huge', 'next'])
    })
  })

  it('lets one leave the line without holding up the others', async () => {
    const queue = createQueue()
    await queue.accept('tiny', 300, async () => {
      const calls = createCalls(queue)
      const leaving = new AbortController()
      void calls.add('a', 128)
      const left = calls.add('left', 128, leaving.signal)
      void calls.add('b', 128)
      await settled()
      leaving.abort(new Error('left'))
      await assert.rejects(left, /left/)
      await calls.end('a')
      assert.deepEqual(calls.started, ['a', 'b'])
    })
  })

  it('refuses requests beyond its bound, of this model alone, saying when to come back', async () => {
    const queue = createQueue({ prompts: 100, requests: 2 })
    const over = { code: 'unavailable', retryAfterSeconds: 5, message: /queue of the model .* is full/ }
    await queue.accept('tiny', 60, async () => {
      await assert.rejects(
        queue.accept('tiny', 60, async () => 0),
        over,
      )
      await queue.accept('tiny', 40, async () =>
        assert.rejects(
          queue.accept('tiny', 0, async () => 0),
          over,
        ),
      )
      assert.equal(await queue.accept('other', 60, async () => 7), 7)
    })
    assert.equal(await queue.accept('tiny', 5000, async () => 7), 7, 'one that is larger than the bound is taken alone')
  })
})
