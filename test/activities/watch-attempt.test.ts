import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { FineTuneDependencies } from '../../activities/fine-tune-dependencies.ts'
import { createWatchActivity } from '../../activities/watch-attempt.ts'
import type { EndState, RunState } from '../../src/compute/run.ts'
import { until } from '../support/eventually.ts'

const attempt = { jobId: 1, number: 1, generation: 1, runName: 'ft-1-a1', runUid: 'uid', releasedAt: null, cause: null }
const args = { max_steps: 10, num_train_epochs: null, batch_size: 1, gradient_accumulation_steps: 1 }
const running: RunState = { state: 'running', uid: 'uid' }

/** Time for many reads more. */
async function pause() {
  for (let interval = 0; interval < 20; interval++) await delay(1)
}

/** An attempt that is watched, its log read every millisecond. */
function watch({ readLog, write }: { readLog: () => string; write: () => Promise<unknown> }) {
  const ended = Promise.withResolvers<EndState>()
  let say: (state: RunState) => void = () => undefined
  let within = (work: () => void) => work()
  const { watchAttempt } = createWatchActivity({
    database: {
      attempts: { get: async () => attempt, recordEnd: async () => undefined, noteLog: async () => undefined },
      trainingJobs: { get: async () => ({ spec: { args }, preparedData: null }), explain: async () => undefined },
    },
    trainers: {
      logReadIntervalMs: 1,
      watch: (_run: unknown, { onState }: { onState: typeof say }) => {
        say = onState
        within = AsyncResource.bind((work: () => void) => work())
        return ended.promise
      },
      readLogs: async () => {
        const text = readLog()
        return { text, nextOffsetBytes: text.length, sizeBytes: text.length }
      },
    },
    storage: { write },
    settings: { attemptLimits: { timeSliceMs: 60_000, stallMs: 60_000, maxJobMs: null } },
  } as unknown as FineTuneDependencies)
  const environment = new MockActivityEnvironment()
  const beats: unknown[] = []
  environment.on('heartbeat', (details) => beats.push(details))
  const over = environment.run(watchAttempt, { jobId: 1, attempt: 1 })
  return {
    over,
    beats,
    end: () => ended.resolve({ state: 'gone' }),
    says: (state: RunState) => say(state),
    /** Works in the context of the activity, as its timers do. */
    within: (work: () => void) => within(work),
  }
}

test('the heartbeat of a run that has not started says what the cluster waits for', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { over, end, says, beats, within } = watch({ readLog: () => '', write: async () => undefined })
  await pause()
  const wait = { reason: 'unschedulable', message: 'No node has room: nvidia.com/gpu.' } as const
  says({ state: 'pending', ...wait })
  within(() => t.mock.timers.tick(3000))
  end()
  await over
  assert.deepEqual(beats, [{ phase: 'not started', ...wait }])
})

test('a store that is slow piles up no copies of the log, and none begins after the end', async () => {
  const stored = Promise.withResolvers<void>()
  let reads = 0
  const { over, end, says } = watch({ readLog: () => 'x'.repeat(++reads), write: () => stored.promise })
  await pause()
  says(running)
  await until('the log was read', () => reads === 1)
  await pause()
  end()
  stored.resolve()
  await over
  assert.equal(reads, 1)
})

test('a log is read once its program runs, and copied when it has grown', async () => {
  let [reads, text] = [0, '']
  const written: string[] = []
  const { over, end, says } = watch({
    readLog: () => (reads++, text),
    write: async () => written.push(text),
  })
  await pause()
  says({ state: 'pending', reason: 'unschedulable', message: 'It waits.' })
  await pause()
  says({ state: 'unreachable', message: 'Nobody answers.' })
  await pause()
  assert.equal(reads, 0, 'it waits')
  says(running)
  for (text of ['', 'a line\n', 'a line\nanother\n']) {
    const before = reads
    await until('the log was read again', () => reads > before + 5)
  }
  end()
  await over
  assert.deepEqual(written, ['a line\n', 'a line\nanother\n'])
})
