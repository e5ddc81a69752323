// The webhook addresses that an account may name if the operator has added no network.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from './support.ts'

const edge = await startPublic()

for (const url of [
  'http://example.com/',
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://[::1]/',
  'https://[::ffff:7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://192.168.0.1:8443/hooks',
  'https://169.254.169.254/latest',
])
  test(`${url} is refused`, async () => {
    const { status, json } = await edge.call('POST', '/v1/webhooks', { json: { url } })
    assert.equal(status, 400)
    assert.equal(json.errors[0].path, 'url')
    assert.match(json.detail, /^url (must begin with https|names a private address)/)
  })
