// Work on users' bytes that fails for unforeseen reasons or ends its worker: how often it is tried.
import { ApplicationFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createBoundedTries } from '../../activities/bounded-tries.ts'

type BoundedTries = ReturnType<typeof createBoundedTries>
/** Lasts until the tests are over. */
const over = Promise.withResolvers<never>()
over.promise.catch(() => undefined)
after(() => over.reject(new ApplicationFailure('over')))
const never = () => over.promise

/** Tries of one activity. Temporal hands the details of the newest heartbeat to the next try. */
function activity(id: string) {
  let details: unknown
  const begin = <T>(boundedTries: BoundedTries, work: () => Promise<T>): Promise<T> => {
    const environment = new MockActivityEnvironment({ heartbeatDetails: details })
    environment.on('heartbeat', (newest: unknown) => (details = structuredClone(newest)))
    return environment.run(() => boundedTries({ id, what: 'The check', type: 'NotUnderstood' }, work)) as Promise<T>
  }
  return {
    begin,
    /** The try of a worker that ends in the middle of the work. */
    die: async (worker = createBoundedTries()) => {
      const begun = Promise.withResolvers<void>()
      void begin(worker, () => {
        begun.resolve()
        return never()
      }).catch(() => undefined)
      await begun.promise
    },
  }
}

const ends = (message: RegExp) => (failure: unknown) => {
  assert.ok(failure instanceof ApplicationFailure && failure.nonRetryable)
  assert.equal(failure.type, 'NotUnderstood')
  assert.match(failure.message, message)
  return true
}

test('an unforeseen error ends the work after five tries; an outage is waited for', async () => {
  const { begin } = activity('bugs')
  const failing = (error: Error) => begin(createBoundedTries(), () => Promise.reject(error))
  const outage = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
  for (let tries = 0; tries < 20; tries++) await assert.rejects(failing(outage), { message: 'connect' })
  const bug = new RangeError('Invalid string length')
  for (let tries = 0; tries < 4; tries++) await assert.rejects(failing(bug), { name: 'RangeError' })
  await assert.rejects(failing(outage), { message: 'connect' })
  await assert.rejects(failing(bug), ends(/^The check failed 5 times on an unforeseen error\.$/))
})

test('work that ends its worker five times is not begun again', async () => {
  const { begin, die } = activity('deadly')
  for (let tries = 0; tries < 5; tries++) await die()
  await assert.rejects(
    begin(createBoundedTries(), never),
    ends(/^The check has ended its worker, or failed on an unforeseen error, 5 times\.$/),
  )
})

test('work beside the work that ends its worker is not blamed for it', async () => {
  const [deadly, innocent] = [activity('deadly'), activity('innocent')]
  for (let ends = 0; ends < 5; ends++) {
    const worker = createBoundedTries()
    await deadly.die(worker)
    // From the fourth try on, it waits for its turn.
    if (ends < 3) await innocent.die(worker)
    else void innocent.begin(worker, never).catch(() => undefined)
  }
  assert.equal(await innocent.begin(createBoundedTries(), () => Promise.resolve('done')), 'done')
})
