import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import type { Log } from '../../src/log.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { handOutSlots } from '../../src/loops/slot-scheduler.ts'

/** A worker whose looks at the database are `look`; `freed` is the notification. */
function start(freed: EventEmitter, look: (count: number) => void) {
  const stopping = new AbortController()
  let count = 0
  const attempts = { grantSlots: async () => look(++count), tellOfSlotsAgain: async () => undefined }
  const done = handOutSlots({
    database: {
      transaction: (work) => work({ attempts } as unknown as Repositories),
    },
    notifications: {
      next: async (_channel, { signal }) =>
        void (await once(freed, 'freed', { ...(signal && { signal }) }).catch(() => undefined)),
    },
    slots: () => 1,
    log: { warn: (details: object) => assert.fail(JSON.stringify(details)) } as unknown as Log,
    signal: stopping.signal,
  })
  return () => {
    stopping.abort()
    return done
  }
}

const settled = () => new Promise(setImmediate)

test('a worker looks once for all that wait, and not again while nothing changes', async () => {
  const freed = new EventEmitter()
  const looks: number[] = []
  const stop = start(freed, (count) => looks.push(count))
  await settled()
  assert.deepEqual(looks, [1])
  freed.emit('freed')
  await settled()
  assert.deepEqual(looks, [1, 2])
  await stop()
})

test('a slot that becomes free during a look is handed out by the next, at once', async () => {
  const freed = new EventEmitter()
  const looks: number[] = []
  const stop = start(freed, (count) => {
    looks.push(count)
    if (count === 1) freed.emit('freed')
  })
  await settled()
  assert.deepEqual(looks, [1, 2])
  await stop()
})
