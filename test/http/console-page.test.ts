import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startPublic } from './support.ts'

const consoleDir = mkdtempSync(join(tmpdir(), 'anneal-console-'))
after(() => rmSync(consoleDir, { recursive: true }))
const page = '<!doctype html><title>Anneal</title>'
mkdirSync(join(consoleDir, 'assets'))
writeFileSync(join(consoleDir, 'index.html'), page)
writeFileSync(join(consoleDir, 'assets/index-abc.js'), 'start()\n')
writeFileSync(join(consoleDir, 'secret.pem'), 'no page')

const edge = await startPublic({}, { consoleDir })
const get = (path: string, headers: Record<string, string> = {}) => edge.call('GET', path, { key: null, headers })

test('every page of the console is index.html, which may load from this service only', async () => {
  const paths = ['', '/', '/jobs', '/jobs/7?log=1', '/data/%', '/secret.pem'].map((path) => `/console${path}`)
  for (const path of paths) {
    const { status, headers, text } = await get(path)
    assert.deepEqual([status, text, headers['cache-control']], [200, page, 'no-cache'], path)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
    assert.doesNotMatch(policy, /unsafe|https?:/)
  }
})

test('files with a hash in their name are kept for good; those of another build are 404, not a page', async () => {
  const { headers, text } = await get('/console/assets/index-abc.js')
  assert.equal(text, 'start()\n')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.match(headers['content-type'] ?? '', /^text\/javascript/)
  for (const path of ['/console/assets/index-old.js', '/console/assets/../secret.pem', '/console/assets/%2e%2e/x'])
    assert.notEqual((await get(path)).text, 'no page', path)
  assert.equal((await get('/console/assets/index-old.js')).status, 404)
})

test('an unchanged page is not sent again, and a long one is compressed', async () => {
  const { headers } = await get('/console')
  const again = await get('/console/jobs', { 'if-none-match': String(headers.etag) })
  assert.deepEqual([again.status, again.text], [304, ''])
  const compressed = await fetch(`http://127.0.0.1:${edge.port}/console`, { headers: { 'accept-encoding': 'gzip' } })
  assert.equal(compressed.headers.get('content-encoding'), 'gzip')
  assert.equal(await compressed.text(), page)
})

test('is only read', async () => {
  for (const path of ['/console', '/console/jobs']) {
    const { status, headers } = await edge.call('POST', path, { key: null })
    assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
    assert.equal((await edge.call('HEAD', path, { key: null })).status, 200)
  }
})

test('a service without a built console says how to build it', async () => {
  const { status, text } = await (await startPublic()).call('GET', '/console', { key: null })
  assert.equal(status, 404)
  assert.match(text, /npm run setup/)
})
