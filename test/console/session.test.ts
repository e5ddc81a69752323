// What is kept as the session of a browser that comes back from the identity provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'

const kept = new Map<string, string>()
const location = { pathname: '/console/jobs', search: '', hash: '' }
let cookieFits: unknown
Object.assign(globalThis, {
  window: { addEventListener: () => {} },
  history: { replaceState: () => (location.hash = '') },
  localStorage: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  },
  location,
  fetch: (_: string, { headers }: { headers: Record<string, string> }) =>
    Promise.resolve(new Response(null, { status: headers['X-Console-Token'] === cookieFits ? 200 : 401 })),
})
const { currentSession, takeFromAddress } = await import('../../console/src/api/session.ts')

async function comeBack(told: string) {
  location.hash = `#signed-in=${told}`
  await takeFromAddress()
  assert.equal(location.hash, '')
}
const encoded = (told: unknown) => Buffer.from(JSON.stringify(told)).toString('base64url')

test('a session in the address is kept only if it belongs to the cookie: a foreign page can link to its own', async () => {
  const told = { page_token: 'mine', key_id: 'k', scopes: ['read'], expires_at: '2999-01-01' }
  cookieFits = 'mine'
  await comeBack(encoded({ ...told, page_token: 'of an attacker' }))
  await comeBack(encoded({ page_token: 'of an attacker' }))
  for (const broken of ['a', encoded(null), encoded('text'), encoded({})]) await comeBack(broken)
  assert.equal(currentSession(), null)
  assert.equal(kept.size, 0)
  await comeBack(encoded(told))
  assert.equal(currentSession()?.pageToken, 'mine')
})
