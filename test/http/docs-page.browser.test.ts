import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launch, openProfile } from '../console/browser/launch.ts'
import { startPublic } from './support.ts'

const edge = await startPublic()

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

test('shows every route but the aliases in a browser', async () => {
  const { json } = await edge.call('GET', '/openapi.json', { key: null })
  type Operations = Record<string, Record<string, { operationId: string; deprecated?: true }>>
  const { paths, webhooks } = json as { paths: Operations; webhooks: Operations }
  const promised = [paths, webhooks]
    .flatMap((operations) => Object.values(operations))
    .flatMap((methods) => Object.values(methods))
    .filter(({ deprecated }) => !deprecated)
    .map(({ operationId }) => operationId)
  const browser = await launch()
  try {
    const page = await (await openProfile(browser)).newPage()
    await page.goto(`http://127.0.0.1:${edge.port}/docs`)
    const shown = page.locator('[id^=operations-]:not([id^=operations-tag-])')
    await shown.nth(promised.length - 1).waitFor({ timeout: 60_000 })
    const ids: string[] = await shown.evaluateAll((all) => all.map(({ id }) => id.replace(/^operations-\w+-/, '')))
    assert.deepEqual(ids.toSorted(), promised.toSorted())
  } finally {
    await browser.close()
  }
})
