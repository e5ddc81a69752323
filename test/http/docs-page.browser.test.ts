import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPublic } from './support.ts'

const edge = await startPublic()
const browser = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path))

test('is there without a key, and loads from this service only', async () => {
  const page = await edge.call('GET', '/docs', { key: null })
  assert.equal(page.status, 200)
  assert.match(page.headers['content-type'] ?? '', /^text\/html/)
  const policy = page.headers['content-security-policy']
  assert.match(String(policy), /^default-src 'none'; script-src 'self'; /)
  assert.doesNotMatch(`${String(policy)} ${page.text}`, /https?:/)
  const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
  assert.equal(parts.length, 4)
  for (const path of parts) {
    const part = await edge.call('GET', path, { key: null })
    assert.equal(part.status, 200, path)
    assert.ok(part.text.length > 0, path)
  }
})

test('is only read: other methods are 405', async () => {
  for (const path of ['/docs', '/docs/start.js', '/docs/swagger-ui.css'])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers, json } = await edge.call(method, path, { key: null })
      assert.deepEqual(
        [status, headers.allow, json.code],
        [405, 'GET, HEAD', 'method_not_allowed'],
        `${method} ${path}`,
      )
    }
  assert.equal((await edge.call('HEAD', '/docs', { key: null })).status, 200)
})

test('serves no other file of its package', async () => {
  for (const path of ['/docs/index.html', '/docs/package.json', '/docs/..%2fpackage.json', '/docs/swagger-ui.css.map'])
    assert.equal((await edge.call('GET', path, { key: null })).status, 404, path)
})

test(
  'shows every route in a browser',
  { skip: browser === undefined && 'there is no Chromium on the PATH' },
  async () => {
    const profile = mkdtempSync(join(tmpdir(), 'anneal-chromium-'))
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=20000', '--dump-dom']
    try {
      const { stdout } = await promisify(execFile)(
        browser ?? '',
        [...flags, `--user-data-dir=${profile}`, `http://127.0.0.1:${edge.port}/docs`],
        { maxBuffer: 64 * 1024 * 1024 },
      )
      const shown = new Set([...stdout.matchAll(/id="operations-(?!tag-)\w+-(\w+)"/g)].map(([, id = '']) => id))
      const { json } = await edge.call('GET', '/openapi.json', { key: null })
      type Operation = { operationId: string }
      type Operations = Record<string, Record<string, Operation>>
      const { paths, webhooks } = json as { paths: Operations; webhooks: Operations }
      const promised = [paths, webhooks]
        .flatMap((operations) => Object.values(operations))
        .flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
      assert.deepEqual([...shown].toSorted(), promised.toSorted())
    } finally {
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    }
  },
)
