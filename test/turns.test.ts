import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from '../src/turns.ts'

/** Takes turns for each owner and names them in the order in which they begin. */
function begin(turns: ReturnType<typeof createTurns>, owners: string) {
  const begun: string[] = []
  for (const owner of owners) void turns.take(owner).then(() => begun.push(owner))
  return begun
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an owner with much work leaves turns to others, and never waits for its own backlog', async () => {
  const turns = createTurns({ atMost: 3, atMostOfOne: 2 })
  const begun = begin(turns, 'aaaaaaab')
  await settled()
  assert.equal(begun.join(''), 'aab')
})

test('owners take turns, each in the order of its work', async () => {
  const turns = createTurns({ atMost: 1, atMostOfOne: 1 })
  const begun = begin(turns, 'aaaabbcc')
  for (let done = 0; done < 7; done++) {
    await settled()
    turns.giveBack(begun.at(-1) ?? '')
  }
  await settled()
  assert.equal(begun.join(''), 'abcabcaa')
})

test('work that is given up while it waits takes no turn', async () => {
  const turns = createTurns({ atMost: 1, atMostOfOne: 1 })
  const giveUp = new AbortController()
  await turns.take('a')
  const waiting = turns.take('b', giveUp.signal)
  giveUp.abort(new Error('given up'))
  await assert.rejects(waiting, { message: 'given up' })
  turns.giveBack('a')
  await turns.take('c')
})

test('a turn costs the same however many wait, and however many of those leave', { timeout: 30_000 }, async () => {
  const turns = createTurns({ atMost: 1, atMostOfOne: 1 })
  const giveUp = new AbortController()
  const count = 50_000
  await turns.take('many')
  const leaving = Array.from({ length: 1000 }, () => turns.take('many', giveUp.signal))
  const begun = begin(turns, 'm'.repeat(count))
  giveUp.abort(new Error('given up'))
  await Promise.allSettled(leaving)
  turns.giveBack('many')
  for (let done = 0; done < count; done++) {
    await Promise.resolve()
    turns.giveBack('m')
  }
  await settled()
  assert.equal(begun.length, count)
})
