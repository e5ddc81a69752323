import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { runLoop, type Loop } from '../../src/loops/run-loop.ts'

const settled = () => new Promise(setImmediate)

/** A loop whose passes are `results` in turn, the last of them for ever; `sleeps` are its waits, each of which `endSleep` ends. */
function start(results: (number | 'done' | Error)[], more: Partial<Loop> = {}) {
  const stopping = new AbortController()
  const [sleeps, warnings]: [number[], object[]] = [[], []]
  const world = { passes: 0, unsubscribed: 0, wake: () => {}, endSleep: () => {} }
  const loop: Loop = {
    name: 'test',
    subscribe(wake) {
      world.wake = wake
      return () => void world.unsubscribed++
    },
    async pass() {
      const result = results[Math.min(world.passes++, results.length - 1)]
      if (result === undefined || result instanceof Error) throw result
      return result
    },
    ...more,
  }
  const done = runLoop(loop, {
    log: { warn: (details: object) => void warnings.push(details) } as never,
    signal: stopping.signal,
    sleep(ms, signal) {
      sleeps.push(ms)
      const { promise, resolve } = Promise.withResolvers<void>()
      world.endSleep = resolve
      if (signal.aborted) resolve()
      signal.addEventListener('abort', () => resolve())
      return promise
    },
  })
  return { world, sleeps, warnings, done, stop: () => stopping.abort() }
}

test('repeats the pass after the time that the pass asked for, and at once for zero', async () => {
  const { world, sleeps, stop, done } = start([0, 0, 1000])
  await settled()
  assert.deepEqual([world.passes, sleeps], [3, [1000]])
  world.endSleep()
  await settled()
  assert.equal(world.passes, 4)
  stop()
  await done
  assert.equal(world.unsubscribed, 1)
})

test('a wake-up starts the next pass at once, also when it comes during a pass', async () => {
  const { promise: inPass, resolve: endPass } = Promise.withResolvers<number>()
  let passes = 0
  const { world, stop, done } = start([], { pass: () => (++passes === 2 ? inPass : Promise.resolve(1000)) })
  await settled()
  world.wake()
  await settled()
  assert.equal(passes, 2)
  world.wake()
  endPass(1000)
  await settled()
  assert.equal(passes, 3, 'one wake-up is one pass')
  stop()
  await done
})

test('backs off twice as long after each failure, up to 5 s, and starts over after a success', async (t) => {
  t.mock.method(Math, 'random', () => 0)
  const away = new Error('away')
  const { world, sleeps, warnings, stop, done } = start([away, away, away, away, away, 10, away])
  for (const _ of Array(6)) {
    await settled()
    world.endSleep()
  }
  await settled()
  assert.deepEqual(sleeps, [250, 500, 1000, 2000, 2500, 10, 250])
  assert.equal(warnings.length, 6)
  assert.partialDeepStrictEqual(warnings[0], { loop: 'test', err: away, retryInMs: 250 })
  stop()
  await done
})

test('a wake-up does not shorten a back-off', async () => {
  const { world, stop, done } = start([new Error('away')])
  await settled()
  world.wake()
  await settled()
  assert.equal(world.passes, 1)
  stop()
  await done
})

test('ends when a pass says so', async () => {
  const { world, done } = start([0, 'done'])
  await done
  assert.deepEqual([world.passes, world.unsubscribed], [2, 1])
})

test('an abort waits for the pass in progress, and logs no failure of the last pass', async () => {
  const drain = mock.fn(async () => undefined)
  const { promise: inPass, reject: failPass } = Promise.withResolvers<number>()
  const { warnings, stop, done } = start([], { drain, pass: () => inPass })
  stop()
  failPass(new Error('aborted'))
  await done
  assert.equal(drain.mock.callCount(), 1)
  assert.deepEqual(warnings, [])
})
