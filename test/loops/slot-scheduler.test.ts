import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slotScheduler } from '../../src/loops/slot-scheduler.ts'
import type { Repositories } from '../../src/repositories/database.ts'

test('a pass grants the free slots and resends signals in one transaction, then says why the others wait', async () => {
  const calls: unknown[] = []
  const attempts = {
    grantSlots: async (slots: number | null) => void calls.push(['grant', slots]),
    resendSlotSignals: async () => void calls.push('resend'),
  }
  const loop = slotScheduler({
    database: {
      transaction: (work) => work({ attempts } as unknown as Repositories),
      installation: { maintenance: async () => null } as unknown as Repositories['installation'],
      attemptWaits: {
        explain: async ({ reason }: { reason: string }) => void calls.push(['explain', reason]),
      } as unknown as Repositories['attemptWaits'],
    },
    notifications: { on: (channel) => () => void calls.push(`off ${channel}`) },
    slots: () => 2,
  })
  assert.equal(await loop.pass(new AbortController().signal), 5000)
  loop.subscribe?.(() => undefined)()
  assert.deepEqual(calls, [['grant', 2], 'resend', ['explain', 'waiting_for_slot'], 'off slots'])
})
