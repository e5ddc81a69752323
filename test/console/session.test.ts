// The session of somebody who comes back from the identity provider.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionToldIn } from '../../console/src/domain/session.ts'

const mine = { page_token: 'mine', key_id: 'k', scopes: ['read'], expires_at: '2999-01-01', name: 'Änn' }
const isKnown = (pageToken: string) => Promise.resolve(pageToken === 'mine')
const told = (what: unknown) =>
  sessionToldIn(`#signed-in=${Buffer.from(JSON.stringify(what)).toString('base64url')}`, isKnown)

test('a session in the address counts only with the cookie of this browser: a foreign page can link to its own', async () => {
  assert.equal(await told({ ...mine, page_token: 'of an attacker' }), null)
  for (const broken of [null, 'text', {}, { page_token: 'of an attacker' }]) assert.equal(await told(broken), null)
  for (const hash of ['#signed-in=', '#signed-in=a', '#signed-in=%00', '#signed-in=e30x'])
    assert.equal(await sessionToldIn(hash, isKnown), null)
  const away = () => Promise.reject(new Error('the service is away'))
  assert.equal(await sessionToldIn('#signed-in=e30', away), null)
  const session = await told(mine)
  assert.deepEqual([session?.pageToken, session?.scopes, session?.person?.name], ['mine', ['read'], 'Änn'])
})
