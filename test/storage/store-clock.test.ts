import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOutage } from '../../src/domain/outage.ts'
import { startSmallStore } from './support/small-store.ts'

const hourMs = 3_600_000

/** As S3 writes it: `20261120T100000Z`. */
const signedAtMs = (url: string) => {
  const text = new URL(url).searchParams.get('X-Amz-Date') ?? ''
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

for (const hours of [6, -6])
  test(`URLs that are signed while our clock is ${hours} h ahead are of the store's time`, async (t) => {
    const { storage } = await startSmallStore(t, (_request, response) => response.writeHead(200).end())
    await storage.check()
    const nowMs = Date.now()
    t.mock.timers.enable({ apis: ['Date'], now: nowMs + hours * hourMs })
    const sign = [storage.presignUpload, storage.presignDownload, storage.presignPodPut, storage.presignPodGet]
    for (const url of await Promise.all(sign.map((each) => each('a/b'))))
      assert.ok(Math.abs(signedAtMs(url) - nowMs) < 60_000, url)
  })

test('a store that refuses our signatures is an outage, not a missing object or a bad request', async (t) => {
  const body = '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'
  const { storage } = await startSmallStore(t, (_request, response) => response.writeHead(403).end(body))
  for (const ask of [() => storage.stat('a'), () => storage.read('a'), () => storage.write('a', Buffer.from('b'))])
    await assert.rejects(ask, isOutage)
})
