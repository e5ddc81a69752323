import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeText, slotWait, turnWait } from '../../src/domain/wait.ts'

const at = new Date('2026-11-20T04:10:30Z')
const longest = { jobId: 6, since: new Date('2026-11-20T03:20:00Z') }

test('an operator reads the place, the slots, and who holds one for the longest time', () => {
  assert.equal(
    placeText(92, { slots: 1, longest, at }),
    '92 ahead; 1 slot, held by job 6 since 2026-11-20 03:20 UTC (as of 2026-11-20 04:10 UTC)',
  )
  assert.match(placeText(0, { slots: 4, longest, at }), /^Next in line; 4 slots, the longest held by job 6 since /)
  assert.match(placeText(3, { slots: null, longest: null, at }), /^3 ahead; slots as the cluster decides \(as of/)
})

test('a job that waits for a slot says so, and in maintenance says why and what follows', () => {
  assert.deepEqual(slotWait(1, null), {
    reason: 'waiting_for_slot',
    message: 'Waiting for a free slot: the only one is in use.',
  })
  assert.match(slotWait(3, null).message, /all 3 are in use/)
  assert.deepEqual(slotWait(1, { since: at, message: 'Upgrade until noon' }), {
    reason: 'maintenance',
    message:
      'An operator stopped new work at 2026-11-20 04:10 UTC. Upgrade until noon. The job starts once new work goes on.',
  })
  assert.doesNotMatch(slotWait(1, { since: at, message: '' }).message, / {2}|\.\./)
})

test('work that waits for its turn names itself in the sentence about a maintenance', () => {
  assert.equal(turnWait('batch', null).reason, 'waiting_for_turn')
  assert.deepEqual(turnWait('batch', { since: at, message: '' }), {
    reason: 'maintenance',
    message: 'An operator stopped new work at 2026-11-20 04:10 UTC. The batch starts once new work goes on.',
  })
})
