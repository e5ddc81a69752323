import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aliasPattern,
  canBeAsked,
  checkpointName,
  parseCheckpointName,
  parseModelReference,
  withoutPrefix,
} from '../../src/domain/model-reference.ts'

const id = 'a1'.repeat(32)

test('a reference is a name, a name with a version, or a name with an alias', () => {
  const cases: [string, string, unknown][] = [
    ['support-bot', 'support-bot', null],
    ['support-bot@3', 'support-bot', { version: 3 }],
    ['support-bot@production', 'support-bot', { alias: 'production' }],
    ['a@b@2', 'a@b', { version: 2 }],
    ['bot@03', 'bot', { alias: '03' }],
    ['bot@9999999999', 'bot', { alias: '9999999999' }],
    ['bot@', 'bot@', null],
    ['@3', '@3', null],
    ['two\nlines@1', 'two\nlines', { version: 1 }],
    [id, id, null],
  ]
  for (const [text, name, tag] of cases) assert.deepEqual(parseModelReference(text), { name, tag }, text)
})

test('ft: and the words after it may stand before any reference', () => {
  for (const inner of [id, 'support-bot', 'support-bot@3', 'support-bot@production'])
    for (const prefix of ['', 'ft:', 'ft:tiny:', 'ft:tiny:my-org::'])
      assert.equal(withoutPrefix(prefix + inner), inner, prefix + inner)
  assert.equal(withoutPrefix('ft:'), 'ft:')
})

test('a custom name that reads like another reference is never asked', () => {
  for (const name of ['support-bot', 'Support Bot', 'ft:tiny:bot', 'a/b', 'größe']) assert.ok(canBeAsked(name), name)
  for (const name of ['', 'a@b', '@', id, 'ftjob-7:ckpt-step-60']) assert.ok(!canBeAsked(name), name)
})

test('a checkpoint is named by its job and step', () => {
  assert.deepEqual(parseCheckpointName(checkpointName(7, 60)), { jobId: 7, step: 60 })
  for (const name of ['ftjob-7', 'ftjob-7:ckpt-step-0', 'ftjob-07:ckpt-step-60', 'ftjob-7:ckpt-step-60x', id])
    assert.equal(parseCheckpointName(name), null, name)
})

test('no alias reads like a version or breaks a reference', () => {
  for (const alias of ['production', 'v1.2_x-y', 'a'.repeat(64)]) assert.match(alias, aliasPattern)
  for (const alias of ['', '3', '3a', 'a@b', 'a b', 'a'.repeat(65), 'a\n']) assert.doesNotMatch(alias, aliasPattern)
})
