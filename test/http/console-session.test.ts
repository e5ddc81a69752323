// Sign-in to the console over loopback; the sessions are kept in memory.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { publicRoutes } from '../../src/http/app.ts'
import type { ConsoleSessionRecord } from '../../src/repositories/console-sessions.ts'
import { accountId, apiKey, liveKey, startPrivate, startPublic, type Sent } from './support.ts'

const expiresAt = new Date('2026-11-25T12:00:00Z')
const sessionId = '33333333-3333-4333-8333-333333333333'

type Secrets = { cookieHash: Uint8Array; pageTokenHash: Uint8Array }
const textOf = (hash: Uint8Array) => Buffer.from(hash).toString('hex')

/** The public edge with a store of sessions. */
async function startConsole(options: Parameters<typeof startPublic>[1] = {}) {
  const key = await liveKey()
  const owner = { accountId, apiKeyId: key.id }
  const open = new Map<string, ConsoleSessionRecord>()
  const links = new Set<string>()
  const audited: string[] = []
  let failures = 0
  const keep = ({ cookieHash, pageTokenHash }: Secrets) => {
    open.set(textOf(cookieHash), { sessionId, pageTokenHash, expiresAt, key: { ...key, scopes: ['read'] } })
    return { id: sessionId, expiresAt }
  }
  const consoleSessions = {
    keepNewest: () => Promise.resolve(),
    add: (_owner: unknown, secrets: Secrets) => Promise.resolve(keep(secrets)),
    addLink: (_owner: unknown, hash: Uint8Array) => {
      links.add(textOf(hash))
      return Promise.resolve({ id: sessionId, expiresAt })
    },
    showLink: (hash: Uint8Array) => {
      const shown = {
        accountId,
        accountName: 'ours',
        apiKeyId: key.id,
        keyName: 'first',
        scopes: key.scopes,
        expiresAt,
      }
      return Promise.resolve(links.has(textOf(hash)) ? shown : null)
    },
    openLink: (hash: Uint8Array, secrets: Secrets) =>
      Promise.resolve(links.delete(textOf(hash)) ? { ...owner, ...keep(secrets), scopes: key.scopes } : null),
    endOf: () => Promise.resolve(expiresAt),
    findLive: (hash: Uint8Array) => Promise.resolve(open.get(textOf(hash)) ?? null),
    end: () => {
      open.clear()
      return Promise.resolve(true)
    },
  }
  const edge = await startPublic(
    {
      database: {
        consoleSessions,
        apiKeys: { find: () => Promise.resolve({ name: 'first', expiresAt: null }) },
        auditEvents: { add: ({ action }: { action: string }) => Promise.resolve(void audited.push(action)) },
        webhooks: { list: () => Promise.resolve([]) },
        trainingJobs: { cancelOpen: () => Promise.resolve([]) },
      },
      limits: { countFailedAuthentication: () => Promise.resolve(void failures++) },
    },
    options,
  )
  return { ...edge, audited, failures: () => failures, signedIn: await signIn(edge) }
}

type Edge = Awaited<ReturnType<typeof startPublic>>

/** The headers that a page of the console sends. */
async function signIn(edge: Edge, sent: Sent = {}) {
  const { status, headers, json } = await edge.call('POST', '/v1/console/session', sent)
  assert.equal(status, 200)
  const setCookie = headers['set-cookie']?.[0] ?? assert.fail()
  const cookie = setCookie.split(';')[0] ?? ''
  return { setCookie, json, headers: { cookie, 'x-console-token': String(json.page_token) } }
}

const session = '/v1/console/session'

suite('sessions of the console', async () => {
  const edge = await startConsole()
  const { cookie, ...withoutCookie } = edge.signedIn.headers
  const asked = (headers: Record<string, string>) => edge.call('GET', session, { key: null, headers })

  test('an API key is exchanged for a cookie that no script and no other site can use', () => {
    const { setCookie, json } = edge.signedIn
    assert.match(setCookie, /^anneal_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    assert.equal(json.expires_at, '2026-11-25T12:00:00.000000')
    assert.ok(!JSON.stringify(json).includes(cookie.split('=')[1] ?? '-'))
    assert.ok(edge.audited.includes('session.create'))
  })

  test('a session acts with the scopes of its key', async () => {
    const { status, json } = await asked(edge.signedIn.headers)
    assert.deepEqual([status, json.session_id, json.keys_end_at], [200, sessionId, '2026-11-25T12:00:00.000000'])
    assert.deepEqual([json.account_name, json.key_name, json.role], ['ours', 'first', null])
    assert.equal(json.expires_at, json.keys_end_at, 'the session ends before its key')
    const refused = await edge.call('POST', '/v1/train/jobs/cancel', { key: null, headers: edge.signedIn.headers })
    assert.equal(refused.status, 401)
    assert.match(refused.text, /scope \\"training\\"/)
  })

  test('the cookie alone, or the token alone, changes and shows nothing', async () => {
    const before = edge.failures()
    for (const headers of [
      { cookie },
      { cookie, 'x-console-token': '' },
      { cookie, 'x-console-token': 'A'.repeat(43) },
      { ...withoutCookie },
      { ...withoutCookie, cookie: `${cookie.split('=')[0]}=${'A'.repeat(43)}` },
    ])
      for (const [method, path] of [
        ['GET', session],
        ['POST', '/v1/train/jobs/cancel'],
        ['DELETE', session],
      ] as const)
        assert.equal((await edge.call(method, path, { key: null, headers })).status, 401)
    assert.ok(edge.failures() > before, 'wrong secrets count against the address')
  })

  test('no route that takes a session takes its cookie alone', async () => {
    const routes = publicRoutes.filter(({ access }) => access === 'key')
    assert.ok(routes.some(({ method }) => method === 'delete'))
    for (const { method, path } of routes) {
      const { status } = await edge.call(method.toUpperCase(), path.replaceAll(/:\w+/g, '1'), {
        key: null,
        headers: { cookie },
      })
      assert.equal(status, 401, `${method} ${path}`)
    }
  })

  test('a request that another origin has caused is refused, even with both secrets', async () => {
    for (const from of ['cross-site', 'same-site', 'none'])
      assert.equal((await asked({ ...edge.signedIn.headers, 'sec-fetch-site': from })).status, 401, from)
    assert.equal((await asked({ ...edge.signedIn.headers, 'sec-fetch-site': 'same-origin' })).status, 200)
  })

  test('origins that may call the API may not do so with cookies', async () => {
    const origin = 'https://app.example.com'
    const open = await startConsole({ corsOrigins: [origin] })
    for (const method of ['GET', 'OPTIONS']) {
      const headers = { ...open.signedIn.headers, origin, 'access-control-request-method': 'GET' }
      const answer = await open.call(method, session, { key: null, headers })
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.equal(answer.headers['access-control-allow-credentials'], undefined)
    }
  })

  test('a session cannot open another session or a link', async () => {
    for (const path of [session, '/v1/console/links']) {
      const { status, text } = await edge.call('POST', path, { key: null, headers: edge.signedIn.headers })
      assert.equal(status, 401, text)
    }
  })

  test('a key in the request wins over the session', async () => {
    const { json } = await edge.call('GET', session, { headers: edge.signedIn.headers })
    assert.equal(json.session_id, null)
    const wrong = await edge.call('GET', session, { key: `${apiKey.slice(0, -1)}!`, headers: edge.signedIn.headers })
    assert.equal(wrong.status, 401)
  })

  test('a link names its account and key, and signs in once', async () => {
    const { json } = await edge.call('POST', '/v1/console/links')
    const link = /^\/console\/open#([\w-]{43})$/.exec(json.path)?.[1]
    const show = () => edge.call('POST', '/v1/console/links/show', { key: null, json: { link } })
    const open = () => edge.call('POST', '/v1/console/links/open', { key: null, json: { link } })
    const [shown, again] = [await show(), await show()]
    assert.deepEqual([shown.json.account_name, shown.json.key_name, again.status], ['ours', 'first', 200])
    assert.equal(shown.headers['set-cookie'], undefined)
    const [first, second] = [await open(), await open()]
    assert.deepEqual([first.status, second.status], [200, 401])
    assert.match(first.headers['set-cookie']?.[0] ?? '', /HttpOnly; SameSite=Strict/)
    assert.match(second.text, /works only once/)
    const before = edge.failures()
    assert.equal((await show()).status, 401)
    assert.equal(edge.failures(), before + 1, 'a wrong link counts against the address')
  })

  test('behind TLS the cookie is Secure and bound to the host', async () => {
    const proxied = await startConsole({ trustedProxies: ['127.0.0.1'] })
    const tls = { 'x-forwarded-proto': 'https', host: 'anneal.example.com' }
    const { setCookie, headers } = await signIn(proxied, { headers: tls })
    assert.match(setCookie, /^__Host-anneal_session=.*; Secure$/)
    assert.equal((await proxied.call('GET', session, { key: null, headers: { ...tls, ...headers } })).status, 200)
    assert.equal((await proxied.call('GET', session, { key: null, headers })).status, 401)
  })

  test('the admin port takes no session', async () => {
    const { admin } = await startPrivate()
    const { headers } = edge.signedIn
    assert.equal((await admin.call('GET', '/internal/v1/admin/keys', { key: null, headers })).status, 401)
  })

  test('signing out ends the session and clears the cookie', async () => {
    const { status, headers } = await edge.call('DELETE', session, { key: null, headers: edge.signedIn.headers })
    assert.equal(status, 200)
    assert.match(headers['set-cookie']?.[0] ?? '', /=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/)
    assert.ok(edge.audited.includes('session.end'))
  })
})
