import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../../src/services/activity.ts'

test('a process is shared while another account has asked for something within a second', () => {
  let nowMs = 0
  const { note, isShared } = createActivity(() => nowMs)
  assert.equal(isShared('a'), false)
  note('a')
  note('a')
  assert.equal(isShared('a'), false)
  assert.equal(isShared('b'), true)
  nowMs = 500
  note('b')
  assert.equal(isShared('a'), true)
  assert.equal(isShared('b'), true)
  nowMs = 1200
  note('a')
  assert.equal(isShared('a'), true)
  nowMs = 1500
  assert.equal(isShared('a'), false)
})
