import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gpuCountOf, ledgerOf } from '../../src/domain/attempt-ledger.ts'

const at = (second: number) => new Date(1_700_000_000_000 + second * 1000)
const now = at(500)

/** Claimed at 0, trains from 10 on, saved its checkpoint at 60 and was killed at 100. */
const killed = { claimedAt: at(0), workingAt: at(10), savedAt: at(60), endedAt: at(100), cause: 'killed' } as const
const ledger = (more: Partial<Parameters<typeof ledgerOf>[0]> = {}, repeatedFrom: Date | null = null) =>
  ledgerOf({ ...killed, ...more }, { repeatedFrom, now })

test('an attempt has lost its start-up and the steps after its last checkpoint', () => {
  assert.deepEqual(ledger(), { allocated: 100, productive: 50, lost: 50 })
  assert.deepEqual(ledger({ savedAt: null }), { allocated: 100, productive: 0, lost: 100 })
})

test('an attempt that finished has lost its start-up alone', () => {
  assert.deepEqual(ledger({ cause: 'finished' }), { allocated: 100, productive: 90, lost: 10 })
})

test('counts steps that a later attempt repeated as lost, though saved', () => {
  assert.deepEqual(ledger({}, at(40)), { allocated: 100, productive: 30, lost: 70 })
  assert.deepEqual(ledger({}, new Date(0)), { allocated: 100, productive: 0, lost: 100 })
  assert.deepEqual(ledger({ cause: 'finished' }, at(60)), { allocated: 100, productive: 50, lost: 50 })
  // It went on from what a still later attempt had saved.
  assert.deepEqual(ledger({}, at(200)), ledger())
})

test('a running attempt has lost its start-up so far; an unclaimed attempt costs nothing', () => {
  assert.deepEqual(ledger({ endedAt: null, cause: null }), { allocated: 500, productive: 490, lost: 10 })
  const loading = { endedAt: null, cause: null, workingAt: null, savedAt: null }
  assert.deepEqual(ledger(loading), { allocated: 500, productive: 0, lost: 500 })
  assert.deepEqual(ledger({ claimedAt: null }), { allocated: 0, productive: 0, lost: 0 })
})

test('clocks that differ make nothing negative, and the parts still add up', () => {
  for (const more of [{ workingAt: at(-5) }, { workingAt: at(120) }, { savedAt: at(-5) }, { endedAt: at(-5) }]) {
    const { allocated, productive, lost } = ledger(more)
    assert.ok(allocated >= 0 && productive >= 0 && lost >= 0, JSON.stringify(more))
    assert.equal(productive + lost, allocated)
  }
})

test('the GPUs of a job are those of all its nodes: those asked for, else those of its base model', () => {
  const baseModel = { resources: { cpuCount: 1, memoryGiB: 1, gpuCount: 2, replicas: 1 } }
  const count = (asked: { gpus: number | null; nodes: number }) => gpuCountOf({ ...asked, baseModel } as never)
  assert.deepEqual([count({ gpus: 4, nodes: 2 }), count({ gpus: null, nodes: 3 })], [8, 6])
})
