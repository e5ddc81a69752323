// The addresses of a browser's sign-in, with a provider that always confirms.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from './support.ts'

/** `returnTo`: what the cookie of the login says. */
const start = (returnTo: string) =>
  startPublic({
    signIn: {
      login: {
        begin: (wish: object) =>
          Promise.resolve({
            address: 'https://id.example.com/',
            cookie: Buffer.from(JSON.stringify(wish)).toString('hex'),
          }),
        finish: () => Promise.resolve({ wish: { returnTo, account: null }, idToken: '', asked: {} }),
        enter: () => assert.fail('nobody signs in'),
      },
    },
  })

test('a cookie that names a foreign page, which another port of the host can set, leads nowhere', async () => {
  for (const elsewhere of [
    'https://evil.example/',
    '//evil.example/console/',
    '/v1/keys',
    '/console\\..\\..//evil.example/',
  ]) {
    const { status, headers, text } = await (await start(elsewhere)).call('GET', '/v1/console/callback?code=a&state=b')
    assert.equal(status, 400, elsewhere)
    assert.match(text, /return_to must be the path of a page of the console/)
    assert.equal(headers.location, undefined)
  }
})

test('a page of somebody else cannot choose the account in which this browser works', async () => {
  const { call } = await start('/console/')
  const from = (site: string, query: string) =>
    call('GET', `/v1/console/login${query}`, { headers: { 'sec-fetch-site': site } })
  for (const site of ['cross-site', 'same-site']) {
    const refused = await from(site, '?account=sales')
    assert.equal(refused.status, 400)
    assert.match(refused.text, /account is chosen in the console/)
    assert.equal((await from(site, '')).status, 302)
  }
  for (const site of ['same-origin', 'none']) assert.equal((await from(site, '?account=sales')).status, 302)
})

test('an address to return to that no cookie holds is refused at once', async () => {
  const { call } = await start('/console/')
  const login = (path: string) => call('GET', `/v1/console/login?return_to=${encodeURIComponent(path)}`)
  const { status, headers } = await login(`/console/jobs?filter=${'x'.repeat(1000)}`)
  assert.equal(status, 302)
  assert.match(headers['set-cookie']?.[0] ?? '', /anneal_login/)
  const refused = await login(`/console/jobs?filter=${'x'.repeat(4000)}`)
  assert.equal(refused.status, 400)
  assert.match(refused.text, /too long/)
  assert.equal(refused.headers['set-cookie'], undefined)
})
