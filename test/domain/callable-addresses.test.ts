import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { callableAddresses } from '../../src/domain/callable-addresses.ts'

const refused = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 168.63.129.16 169.254.0.1
  169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255
  198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 64:ff9b:1::1 100::1
  2001::1 2001:1ff::1 2001:db8::1 2002:7f00:1::1 3fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1
  ff02::1 1fff::1`
const taken = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 172.15.255.255
  172.32.0.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2001:200::1 2606:4700:4700::1111 2a00:1450::1`
const listed = (text: string) => text.trim().split(/\s+/)

suite('the addresses that may be called', () => {
  const isCallable = callableAddresses()

  for (const address of listed(refused)) test(`${address} is refused`, () => assert.equal(isCallable(address), false))
  for (const address of listed(taken)) test(`${address} is taken`, () => assert.equal(isCallable(address), true))

  test('refuses a text that is no address', () => {
    for (const text of ['', 'localhost', '127.1', '0x7f000001', '8.8.8.8:80', '[2606:4700::1]'])
      assert.equal(isCallable(text), false, text)
  })

  test('networks of the operator are taken besides, and only they', () => {
    const withOwn = callableAddresses(['10.1.0.0/16', 'fd00:1::/32'])
    for (const address of ['10.1.2.3', 'fd00:1::5', '8.8.8.8']) assert.equal(withOwn(address), true, address)
    for (const address of ['10.2.0.1', '127.0.0.1', 'fd00:2::5']) assert.equal(withOwn(address), false, address)
  })

  test('refuses a text that is no network', () => {
    for (const text of ['10.0.0.1', '10.0.0.0/33', 'internal/8', '10.0.0.0/x', '/8'])
      assert.throws(() => callableAddresses([text]), Error, text)
  })
})
