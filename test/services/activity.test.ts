import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity } from '../../src/services/activity.ts'

test('a process is shared while another account has asked for something within a second', () => {
  let nowMs = 0
  const activity = createActivity(() => nowMs)
  assert.equal(activity.isShared('a'), false)
  activity.note('a')
  activity.note('a')
  assert.equal(activity.isShared('a'), false)
  assert.equal(activity.isShared('b'), true)
  nowMs = 500
  activity.note('b')
  assert.equal(activity.isShared('a'), true)
  assert.equal(activity.isShared('b'), true)
  nowMs = 1200
  activity.note('a')
  assert.equal(activity.isShared('a'), true)
  nowMs = 1500
  assert.equal(activity.isShared('a'), false)
})
