import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slotScheduler } from '../../src/loops/slot-scheduler.ts'
import type { Repositories } from '../../src/repositories/database.ts'

test('a pass grants the free slots and resends signals in one transaction, for all that wait', async () => {
  const calls: unknown[] = []
  const attempts = {
    grantSlots: async (slots: number | null) => void calls.push(['grant', slots]),
    resendSlotSignals: async () => void calls.push('resend'),
  }
  const loop = slotScheduler({
    database: { transaction: (work) => work({ attempts } as unknown as Repositories) },
    notifications: { on: (channel) => () => void calls.push(`off ${channel}`) },
    slots: () => 2,
  })
  assert.equal(await loop.pass(new AbortController().signal), 5000)
  loop.subscribe?.(() => undefined)()
  assert.deepEqual(calls, [['grant', 2], 'resend', 'off slots'])
})
