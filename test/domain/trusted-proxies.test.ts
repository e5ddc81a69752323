import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProxy, tooWide } from '../../src/domain/trusted-proxies.ts'

test('proxies are addresses, networks, or names of ranges', () => {
  for (const text of ['10.0.0.7', '10.0.0.0/24', 'fd00::7', 'fd00::/120', 'loopback', 'uniquelocal'])
    assert.ok(isProxy(text))
  for (const text of ['', 'proxy', 'proxy.example.com', '10.0.0', '10.0.0.0/33', '10.1/8', '*', 'true'])
    assert.ok(!isProxy(text))
})

test('a network that can hold more than the proxies is too wide', () => {
  const wide = [
    '10.0.0.0/8',
    '10.1.0.0/16',
    '10.1.2.0/23',
    '0.0.0.0/0',
    'fd00::/64',
    '::/0',
    'uniquelocal',
    'linklocal',
  ]
  assert.deepEqual(tooWide([...wide, '10.1.2.0/24', '10.1.2.3', 'fd00::/120', 'fd00::7', 'loopback']), wide)
})
