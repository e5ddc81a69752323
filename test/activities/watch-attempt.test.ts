import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { FineTuneDependencies } from '../../activities/fine-tune.ts'
import { createWatchActivity } from '../../activities/watch-attempt.ts'
import type { EndState } from '../../src/compute/compute.ts'

const attempt = { jobId: 1, number: 1, generation: 1, runName: 'ft-1-a1', runUid: 'uid', releasedAt: null, cause: null }

/** Resolves when it holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(1)
}

test('a store that is slow piles up no copies of the log, and none begins after the end', async () => {
  const ended = Promise.withResolvers<EndState>()
  const stored = Promise.withResolvers<void>()
  let reads = 0
  const { watchAttempt } = createWatchActivity({
    database: { attempts: { get: async () => attempt, recordEnd: async () => undefined } },
    compute: {
      logReadIntervalMs: 1,
      watch: () => ended.promise,
      readLogs: async () => ({ text: `read ${++reads}`, nextOffsetBytes: 0, sizeBytes: 0 }),
    },
    storage: { write: () => stored.promise },
    settings: { limits: { timeSliceMs: 60_000, stallMs: 60_000, maxJobMs: null } },
  } as unknown as FineTuneDependencies)
  const watching = new MockActivityEnvironment().run(watchAttempt, { jobId: 1, attempt: 1 })
  await until(() => reads === 1)
  // Time for many more.
  for (let interval = 0; interval < 20; interval++) await delay(1)
  ended.resolve({ state: 'gone' })
  stored.resolve()
  await watching
  assert.equal(reads, 1)
})
