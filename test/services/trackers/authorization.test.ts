import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seal, unseal } from '../../../src/services/trackers/authorization.ts'

test('the credentials of a tracker are read with the secret that has sealed them, and with no other', () => {
  const text = 'Bearer geheim-ü'
  const sealed = seal('one', text)
  assert.equal(unseal('one', sealed), text)
  assert.notEqual(seal('one', text), sealed)
  assert.ok(!Buffer.from(sealed, 'base64').includes('geheim'))
  assert.throws(() => unseal('two', sealed))
})
