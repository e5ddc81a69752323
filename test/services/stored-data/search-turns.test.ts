import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSearchTurns } from '../../../src/services/stored-data/search-turns.ts'

const { signal } = new AbortController()

/** Starts searches that run until their name is ended. `running` holds the names in the order in which they began. */
function start(limits: { total: number; perAccount: number; waitMs?: number }) {
  const turns = createSearchTurns({ waitMs: 600_000, ...limits })
  const running: string[] = []
  const ends = new Map<string, () => void>()
  const run = (name: string, account: string, until = signal) =>
    turns.run(account, until, () => {
      running.push(name)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    })
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { running, run, end }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an account runs few searches at once, and others need not wait for the rest of them', async () => {
  const { running, run, end } = start({ total: 3, perAccount: 2 })
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => run(name, 'a'))
  all.push(run('b1', 'b'), run('c1', 'c'))
  await settled()
  assert.deepEqual(running, ['a1', 'a2', 'b1'])
  await end('a1')
  // c has waited for less time than a3, and has nothing running.
  assert.deepEqual(running, ['a1', 'a2', 'b1', 'c1'])
  await end('b1')
  assert.deepEqual(running, ['a1', 'a2', 'b1', 'c1', 'a3'])
  for (const name of ['a2', 'c1', 'a3', 'a4']) await end(name)
  await Promise.all(all)
})

test('a search that has waited too long for its turn is refused with a time to try again', async () => {
  const { running, run, end } = start({ total: 1, perAccount: 1, waitMs: 20 })
  const first = run('first', 'a')
  await assert.rejects(run('late', 'a'), { code: 'unavailable', retryAfterSeconds: 5, message: /1 at a time/ })
  await end('first')
  await first
  assert.deepEqual(running, ['first'])
})

test('a client that leaves gives up its place, and a failed search its turn', async () => {
  const { running, run, end } = start({ total: 1, perAccount: 1 })
  const first = run('first', 'a')
  const leaving = new AbortController()
  const left = run('left', 'b', leaving.signal)
  leaving.abort(new Error('gone'))
  await assert.rejects(left, { message: 'gone' })
  await end('first')
  await first
  const turns = createSearchTurns({ total: 1, perAccount: 1, waitMs: 600_000 })
  await assert.rejects(
    turns.run('a', signal, () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
  assert.equal(await turns.run('a', signal, () => Promise.resolve('next')), 'next')
  assert.deepEqual(running, ['first'])
})
