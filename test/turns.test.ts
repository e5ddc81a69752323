import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from '../src/turns.ts'

/** Takes turns for each owner and names them in the order in which they begin. */
function begin(turns: ReturnType<typeof createTurns>, accounts: string) {
  const begun: string[] = []
  for (const owner of accounts) void turns.take(owner).then(() => begun.push(owner))
  return begun
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an owner with much work leaves turns to others, and never waits for its own backlog', async () => {
  const turns = createTurns({ atMost: 3, atMostOfAccount: 2 })
  const begun = begin(turns, 'aaaaaaab')
  await settled()
  assert.equal(begun.join(''), 'aab')
})

test('accounts take turns, each in the order of its work', async () => {
  const turns = createTurns({ atMost: 1, atMostOfAccount: 1 })
  const begun = begin(turns, 'aaaabbcc')
  for (let done = 0; done < 7; done++) {
    await settled()
    turns.giveBack(begun.at(-1) ?? '')
  }
  await settled()
  assert.equal(begun.join(''), 'abcabcaa')
})

test('abandoned work takes no turn', async () => {
  const turns = createTurns({ atMost: 1, atMostOfAccount: 1 })
  const giveUp = new AbortController()
  await turns.take('a')
  const waiting = turns.take('b', giveUp.signal)
  giveUp.abort(new Error('given up'))
  await assert.rejects(waiting, { message: 'given up' })
  turns.giveBack('a')
  await turns.take('c')
})

test('work abandoned when its turn has just come keeps the turn, and the next work of its account gets a turn', async () => {
  const turns = createTurns({ atMost: 1, atMostOfAccount: 1 })
  const giveUp = new AbortController()
  await turns.take('a')
  const taking = turns.take('b', giveUp.signal)
  turns.giveBack('a')
  giveUp.abort(new Error('given up'))
  await taking
  turns.giveBack('b')
  await turns.take('a')
  const begun = begin(turns, 'b')
  turns.giveBack('a')
  await settled()
  assert.deepEqual(begun, ['b'])
})

/** Iterators of arrays and of maps share these. */
const iterators = [[].values(), new Map().values()].map(
  (iterator) => Object.getPrototypeOf(iterator) as { next: (this: unknown) => unknown },
)

/** How many elements of arrays and maps the work looks at, one after the other. */
function countLooks(work: () => void): number {
  let count = 0
  const restore = iterators.map((iterator) => {
    const { next } = iterator
    iterator.next = function () {
      count++
      return next.call(this)
    }
    return () => (iterator.next = next)
  })
  work()
  restore.map((undo) => undo())
  return count
}

test('a turn looks at each account once, however many turns they wait for', async () => {
  const turns = createTurns({ atMost: 1, atMostOfAccount: 1 })
  const giveUp = new AbortController()
  await turns.take('a')
  const leaving = Array.from({ length: 100 }, () => turns.take('b', giveUp.signal))
  const begun = begin(turns, 'b'.repeat(1000))
  giveUp.abort(new Error('given up'))
  await Promise.allSettled(leaving)
  const looks = countLooks(() => turns.giveBack('a'))
  assert.ok(looks < 10, `a turn looked at ${looks} entries`)
  await settled()
  assert.deepEqual(begun, ['b'])
})
