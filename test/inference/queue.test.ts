import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createQueue, type Queue, type Turns } from '../../src/inference/queue.ts'

const never = new AbortController().signal
const maxRows = 128
const settled = () => new Promise(setImmediate)
const request = <T>(queue: Queue, accountId: string, work: (turns: Turns) => Promise<T>) =>
  queue.accept({ baseModel: 'tiny', accountId, prompts: 1 }, work)

/** Calls that end when told to. */
function createCalls() {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  return {
    started,
    add: (turns: Turns, name: string, rows: number, { signal = never, tokens = rows * 100 } = {}) =>
      turns.inTurn({ rows, tokens, maxRows }, signal, () => {
        started.push(name)
        const usage = { promptTokens: tokens, completionTokens: 0 }
        return new Promise<{ usage: typeof usage }>((resolve) => ends.set(name, () => resolve({ usage })))
      }),
    async end(name: string) {
      ends.get(name)?.()
      await settled()
    },
  }
}

describe('the queue of a model', () => {
  it('lets the calls of a request through in order, up to the rows that the engines may have', () =>
    request(createQueue(), 'a', async (turns) => {
      const calls = createCalls()
      for (const name of ['a', 'b', 'c', 'd']) void calls.add(turns, name, 64)
      await settled()
      assert.deepEqual(calls.started, ['a', 'b'])
      await calls.end('b')
      assert.deepEqual(calls.started, ['a', 'b', 'c'])
      await calls.end('a')
      assert.deepEqual(calls.started, ['a', 'b', 'c', 'd'])
    }))

  it('lets an idle account in at once, whatever the others have running and waiting', async () => {
    const queue = createQueue()
    const calls = createCalls()
    await request(queue, 'greedy', (large) =>
      request(queue, 'greedy', (singles) =>
        request(queue, 'idle', async (turns) => {
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
        }),
      ),
    )
  })

  it('gives accounts the same tokens, however many requests and calls they have', async () => {
    const queue = createQueue()
    const tokens = { many: 0, few: 0 }
    const ask = (account: keyof typeof tokens, calls: number, cost: number) =>
      request(queue, account, (turns) =>
        Promise.all(
          Array.from({ length: calls }, () =>
            turns.inTurn({ rows: 64, tokens: 1000, maxRows }, never, async () => {
              await settled()
              if (tokens.few < 40_000) tokens[account] += cost
              return { usage: { promptTokens: cost, completionTokens: 0 } }
            }),
          ),
        ),
      )
    await Promise.all([...Array.from({ length: 20 }, () => ask('many', 20, 500)), ask('few', 20, 2000)])
    assert.ok(Math.abs(tokens.many - tokens.few) <= 3 * 2000, JSON.stringify(tokens))
  })

  it('lets a single prompt pass the large call of its own account', async () => {
    const queue = createQueue()
    const calls = createCalls()
    await request(queue, 'a', async (large) => {
      for (let count = 0; count < 6; count++) void calls.add(large, `large ${count}`, 64)
      await request(queue, 'a', async (turns) => {
        for (let count = 0; count < 6; count++) void calls.add(turns, `single ${count}`, 1)
        await settled()
        assert.equal(calls.started.length, 2 + 4)
        await calls.end('large 0')
        assert.deepEqual(calls.started.slice(6), ['single 4', 'single 5'])
      })
    })
  })

  it('lets no more exceed the limit than as much again', async () => {
    const queue = createQueue()
    const calls = createCalls()
    const open = Array.from({ length: 200 }, (_, account) =>
      request(queue, `account ${account}`, async (turns) => calls.add(turns, `${account}`, 2)),
    )
    await settled()
    assert.equal(2 * calls.started.length, 2 * maxRows)
    for (const name of calls.started) await calls.end(name)
    await Promise.all(open)
    assert.equal(calls.started.length, 200)
  })

  it('takes what is larger than its limit when nothing else runs', () =>
    request(createQueue(), 'a', async (turns) => {
      const calls = createCalls()
      void calls.add(turns, 'huge', 1000)
      void calls.add(turns, 'next', 5)
      await settled()
      assert.deepEqual(calls.started, ['huge'])
      await calls.end('huge')
      assert.deepEqual(calls.started, ['huge', 'next'])
    }))

  it('lets one leave the line without holding up the others', () =>
    request(createQueue(), 'a', async (turns) => {
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
    }))

  it('goes on after a call that failed, and forgets who is done', async () => {
    const queue = createQueue()
    const failing = request(queue, 'a', (turns) =>
      turns.inTurn({ rows: 128, tokens: 1, maxRows }, never, () => Promise.reject(new Error('engine'))),
    )
    const calls = createCalls()
    const next = request(queue, 'b', (turns) => calls.add(turns, 'next', 128))
    await assert.rejects(failing, /engine/)
    await settled()
    assert.deepEqual([...queue.measure()], [['tiny', 0, 128]])
    await calls.end('next')
    await next
    assert.deepEqual([...queue.measure()], [])
  })

  it('refuses a whole request beyond its limits', async () => {
    const queue = createQueue({ all: { prompts: 9, requests: 9 }, account: { prompts: 5, requests: 5 } })
    const accept = (prompts: number, work = () => Promise.resolve(7)) =>
      queue.accept({ baseModel: 'tiny', accountId: 'a', prompts }, work)
    await accept(3, () => assert.rejects(accept(3), { code: 'quota_exceeded' }).then(() => 0))
    assert.equal(await accept(5000), 7, 'one that is larger than the limit is taken alone')
  })
})
