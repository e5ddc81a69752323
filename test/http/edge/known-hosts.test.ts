import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knownHosts } from '../../../src/http/edge/known-hosts.ts'

test('a host is known by its address, a name of the machine or the cluster, or a name that the operator gave', () => {
  const isKnown = knownHosts(['Admin.example.com'])
  for (const host of [
    undefined,
    ...['127.0.0.1', '127.0.0.1:8083', '10.1.2.3:8083', '[::1]:8083', '[fd00::7]'],
    ...['localhost', 'LOCALHOST:8083', 'api:8083', 'anneal-admin', 'x.localhost:1', 'localhost.'],
    ...['anneal-admin.anneal.svc:8083', 'anneal-admin.anneal.svc.cluster.local', 'host.docker.internal:8083'],
    ...['admin.example.com', 'ADMIN.example.com:443', 'admin.example.com.'],
  ])
    assert.ok(isKnown(host), String(host))
})

test('a name that another site can own is not known', () => {
  const isKnown = knownHosts(['admin.example.com'])
  for (const host of [
    ...['evil.example', 'evil.example:8083', '127.0.0.1.evil.example', 'localhost.evil.example', 'x.svc.evil.example'],
    ...['example.com', 'x.admin.example.com', 'notlocalhost.com', 'svc.cluster.local.com', 'xn--localhost.com'],
    ...[
      '',
      ' ',
      ':8083',
      '127.0.0.1 evil.example',
      '127.0.0.1@evil.example',
      'evil.example/127.0.0.1',
      '[::1].evil.example',
    ],
  ])
    assert.ok(!isKnown(host), host)
})
