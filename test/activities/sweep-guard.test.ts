import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertFewOrphans } from '../../activities/sweep-guard.ts'

const sweep = (orphans: number, objects: number, maxShare = 0.05) =>
  assertFewOrphans({ orphans, objects, named: 1 }, maxShare)

test('a sweep may remove a small share of the objects, and of a small bucket up to a hundred', () => {
  sweep(100, 100)
  sweep(500, 10_000)
  for (const [orphans, objects] of [
    [101, 101],
    [101, 2000],
    [501, 10_000],
  ] as const)
    assert.throws(() => sweep(orphans, objects), { name: 'Error', reason: 'too_many_objects' })
})

test('the share is a setting: 1 lets everything go, 0 no more than the hundred', () => {
  sweep(10_000, 10_000, 1)
  assert.throws(() => sweep(101, 10_000, 0), /ANNEAL_SWEEP_MAX_SHARE \(0\)/)
})
