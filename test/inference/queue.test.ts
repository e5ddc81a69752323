import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createQueue, type Queue, type Turn, type Turns } from '../../src/inference/queue.ts'

const never = new AbortController().signal
const maxRows = 128
const settled = () => new Promise(setImmediate)
const accept = (queue: Queue, accountId: string, prompts = 1) => queue.accept({ baseModel: 'tiny', accountId, prompts })

/** Calls that end when told to. */
function createCalls() {
  const started: string[] = []
  const running = new Map<string, Turn>()
  return {
    started,
    async add(turns: Turns, name: string, rows: number, { signal = never, tokens = rows * 100 } = {}) {
      const turn = await turns.take({ rows, tokens, maxRows }, signal)
      started.push(name)
      running.set(name, turn)
    },
    async end(name: string) {
      running.get(name)?.[Symbol.dispose]()
      await settled()
    },
  }
}

describe('the queue of a model', () => {
  it('lets the calls of a request through in order, up to the rows that the engines may have', async () => {
    using turns = accept(createQueue(), 'a')
    const calls = createCalls()
    for (const name of ['a', 'b', 'c', 'd']) void calls.add(turns, name, 64)
    await settled()
    assert.deepEqual(calls.started, ['a', 'b'])
    await calls.end('b')
    assert.deepEqual(calls.started, ['a', 'b', 'c'])
    await calls.end('a')
    assert.deepEqual(calls.started, ['a', 'b', 'c', 'd'])
  })

  it('lets an idle account in at once, however many calls of others run and wait', async () => {
    const queue = createQueue()
    const calls = createCalls()
    using large = accept(queue, 'greedy')
    using singles = accept(queue, 'greedy')
    using turns = accept(queue, 'idle')
    for (let count = 0; count < 10; count++) void calls.add(large, `large ${count}`, 64)
    for (let count = 0; count < 100; count++) void calls.add(singles, `single ${count}`, 1)
    await settled()
    assert.equal(calls.started.length, 2 + 4, 'two large calls and a few single prompts')
    void calls.add(turns, 'mine', 1)
    void calls.add(turns, 'mine, too', 64)
    await settled()
    assert.deepEqual(calls.started.slice(6), ['mine'])
    await calls.end('large 0')
    assert.deepEqual(calls.started.slice(7), ['mine, too'], 'a large call waits for room, and for no other call')
  })

  it('gives accounts the same tokens, however many requests and calls they have', async () => {
    const queue = createQueue()
    const tokens = { many: 0, few: 0 }
    const ask = async (account: keyof typeof tokens, calls: number, cost: number) => {
      using turns = accept(queue, account)
      const call = async () => {
        using turn = await turns.take({ rows: 64, tokens: 1000, maxRows }, never)
        await settled()
        if (tokens.few < 40_000) tokens[account] += cost
        turn.count({ promptTokens: cost, completionTokens: 0 })
      }
      await Promise.all(Array.from({ length: calls }, call))
    }
    await Promise.all([...Array.from({ length: 20 }, () => ask('many', 20, 500)), ask('few', 20, 2000)])
    assert.ok(Math.abs(tokens.many - tokens.few) <= 3 * 2000, JSON.stringify(tokens))
  })

  it('lets a single prompt pass the large call of its own account', async () => {
    const queue = createQueue()
    const calls = createCalls()
    using large = accept(queue, 'a')
    for (let count = 0; count < 6; count++) void calls.add(large, `large ${count}`, 64)
    using turns = accept(queue, 'a')
    for (let count = 0; count < 6; count++) void calls.add(turns, `single ${count}`, 1)
    await settled()
    assert.equal(calls.started.length, 2 + 4)
    await calls.end('large 0')
    assert.deepEqual(calls.started.slice(6), ['single 4', 'single 5'])
  })

  it('lets no more exceed the limit than as much again', async () => {
    const queue = createQueue()
    const calls = createCalls()
    for (let account = 0; account < 200; account++) void calls.add(accept(queue, `account ${account}`), `${account}`, 2)
    await settled()
    assert.equal(2 * calls.started.length, 2 * maxRows)
    for (const name of calls.started) await calls.end(name)
    assert.equal(calls.started.length, 200)
  })

  it('takes a call larger than its limit when no other call runs', async () => {
    using turns = accept(createQueue(), 'a')
    const calls = createCalls()
    void calls.add(turns, 'huge', 1000)
    void calls.add(turns, 'next', 5)
    await settled()
    assert.deepEqual(calls.started, ['huge'])
    await calls.end('huge')
    assert.deepEqual(calls.started, ['huge', 'next'])
  })

  it('lets a call leave the line without holding up the others', async () => {
    using turns = accept(createQueue(), 'a')
    const calls = createCalls()
    const leaving = new AbortController()
    void calls.add(turns, 'a', 128)
    const left = calls.add(turns, 'left', 128, { signal: leaving.signal })
    void calls.add(turns, 'b', 128)
    await settled()
    leaving.abort(new Error('left'))
    await assert.rejects(left, /left/)
    await calls.end('a')
    assert.deepEqual(calls.started, ['a', 'b'])
  })

  it('goes on after a call that ends uncounted, and forgets idle accounts', async () => {
    const queue = createQueue()
    const calls = createCalls()
    {
      using failing = accept(queue, 'a')
      using next = accept(queue, 'b')
      await calls.add(failing, 'failing', 128)
      void calls.add(next, 'next', 128)
      await calls.end('failing')
      assert.deepEqual([...queue.measure()], [['tiny', 0, 128]])
      await calls.end('next')
    }
    assert.deepEqual([...queue.measure()], [])
  })

  it('refuses a whole request beyond its limits', () => {
    const queue = createQueue({ all: { prompts: 9, requests: 9 }, account: { prompts: 5, requests: 5 } })
    {
      using _held = accept(queue, 'a', 3)
      assert.throws(() => accept(queue, 'a', 3), { code: 'quota_exceeded' })
    }
    assert.doesNotThrow(() => accept(queue, 'a', 5000), 'a request that is larger than the limit is taken alone')
  })
})
