import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSmallStore } from './support/small-store.ts'

const refusals = {
  'was replaced by a shorter one': [416, 'InvalidRange'],
  'was removed': [404, 'NoSuchKey'],
} as const

for (const [what, [status, code]] of Object.entries(refusals))
  test(`an object that ${what} while it is read has nothing there`, async (t) => {
    const { storage } = await startSmallStore(t, ({ method }, response) => {
      if (method === 'HEAD') return response.writeHead(200, { 'content-length': 100, etag: '"before"' }).end()
      response.writeHead(status, { 'content-type': 'application/xml' })
      response.end(`<Error><Code>${code}</Code><Message>No.</Message></Error>`)
    })
    const { bytes } = await storage.readRange('log', { offset: 60, limit: 40 })
    assert.equal(bytes.length, 0)
  })
