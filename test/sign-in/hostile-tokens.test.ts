// Tokens that somebody forged, cut, kept too long or got for another service: each is refused, and the sentence says why.
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, KeyObject, randomBytes, sign } from 'node:crypto'
import { after, test } from 'node:test'
import { ServiceError } from '../../src/domain/service-error.ts'
import { createLog } from '../../src/log.ts'
import { createIssuer } from '../../src/sign-in/issuer.ts'
import { verifyToken } from '../../src/sign-in/verify-token.ts'
import { audience, signText, startIssuer } from '../support/issuer.ts'

const { publicKey: shortKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const offCurve = { kty: 'EC', crv: 'P-256', x: 'eA'.repeat(21) + 'A', y: 'eA'.repeat(21) + 'A' }
const provider = await startIssuer([
  { ...shortKey.export({ format: 'jwk' }), kid: 'short' },
  { ...offCurve, kid: 'broken' },
])
after(() => provider.stop())
const stranger = await startIssuer()
after(() => stranger.stop())

const settings = { issuer: new URL(provider.url), clientId: null, clientSecret: undefined }
const issuer = createIssuer(settings, createLog('test', 'silent'))
const verify = (token: string, groupsClaim = 'groups') =>
  verifyToken(token, { issuer: provider.url, audiences: [audience], groupsClaim }, issuer)

const seconds = Math.floor(Date.now() / 1000)
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const good = await provider.sign()
const [header = '', payload = '', signature = ''] = good.split('.')
const { kid, publicJwk, privateKey } = provider.key()
const pem = createPublicKey({ key: { ...publicJwk }, format: 'jwk' })
  .export({ type: 'spki', format: 'pem' })
  .toString()

/** What the library of the tests refuses to sign. */
function signedAnyway(head: object) {
  const signed = `${encoded({ alg: 'RS256', kid, ...head })}.${payload}`
  return `${signed}.${sign('sha256', Buffer.from(signed), KeyObject.from(privateKey)).toString('base64url')}`
}

/** HS256 with a secret that everybody knows. */
function hmacSigned(secret: string) {
  const signed = `${encoded({ alg: 'HS256', kid })}.${payload}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const claims = (given: object) => () => provider.sign(given)
const text = (change: (json: string) => string) => () => provider.signText(change(JSON.stringify(provider.payloadOf())))

const hostile: [name: string, token: () => string | Promise<string>, reason: RegExp][] = [
  ['expired', claims({ exp: seconds - 61 }), /has expired \(claim exp\)/],
  ['not yet valid', claims({ nbf: seconds + 120 }), /not valid yet \(claim nbf\)/],
  ['issued in the future', claims({ iat: seconds + 120 }), /issued in the future/],
  ['without an end', claims({ exp: undefined }), /has no claim exp/],
  ['without a time of issue', claims({ iat: undefined }), /has no claim iat/],
  ['without a subject', claims({ sub: undefined }), /has no claim sub/],
  ['without an audience', claims({ aud: undefined }), /has no claim aud/],
  ['of no issuer', claims({ iss: undefined }), /has no claim iss/],
  ['for another audience', claims({ aud: 'other' }), /another service \(claim aud\)/],
  ['for a list of other audiences', claims({ aud: ['other', 'annea', 'anneal2'] }), /another service/],
  ['for an audience that is an object', claims({ aud: { anneal: true } }), /aud/],
  ['of another issuer', claims({ iss: stranger.url }), /another issuer/],
  ['of the issuer with a slash', claims({ iss: `${provider.url}/` }), /another issuer/],
  ['signed by another issuer', () => stranger.sign({ iss: provider.url }), /signature does not fit/],
  ['alg none', () => `${encoded({ alg: 'none', kid })}.${payload}.`, /algorithm is not accepted|no valid signed JWT/],
  ['alg None', () => `${encoded({ alg: 'None', kid })}.${payload}.${signature}`, /algorithm is not accepted/],
  ['HS256 with the public key', () => hmacSigned(pem), /algorithm is not accepted/],
  ['HS256 with the public key as JSON', () => hmacSigned(JSON.stringify(publicJwk)), /algorithm is not accepted/],
  ['without a signature', () => `${header}.${payload}.`, /signature does not fit|no valid signed JWT/],
  ['with another payload', () => `${header}.${encoded(provider.payloadOf({ sub: 'bob' }))}.${signature}`, /signature/],
  ['with a changed signature', () => `${header}.${payload}.${randomBytes(256).toString('base64url')}`, /signature/],
  ['with an unknown key id', () => provider.sign({}, { kid: 'second' }), /no such signing key/],
  ['with a path as key id', () => provider.sign({}, { kid: '../../../../dev/null' }), /no such signing key/],
  ['with SQL as key id', () => provider.sign({}, { kid: "' or 1=1 --" }), /no such signing key/],
  ['with a number as key id', () => `${encoded({ alg: 'RS256', kid: 7 })}.${payload}.${signature}`, /kid is no text/],
  ['with a number as type', () => signedAnyway({ typ: 7 }), /typ is no text/],
  ['by a short key of the provider', () => provider.sign({}, { kid: 'short' }), /cannot be used: RSA keys need 2048/],
  ['by a broken key of the provider', () => signedAnyway({ kid: 'broken', alg: 'ES256' }), /cannot be used/],
  ['with a key of its own', () => signedByItself(), /signature does not fit/],
  ['with a header that must be understood', () => signedAnyway({ crit: ['b'], b: 1 }), /no valid signed JWT/],
  ['of a sign-out', () => provider.sign({}, { typ: 'logout+jwt' }), /header typ/],
  ['huge', claims({ note: 'x'.repeat(20_000) }), /more than 16384 characters/],
  ['cut in the payload', () => `${header}.${payload.slice(0, -9)}.${signature}`, /payload is not valid JSON|signature/],
  ['cut after the header', () => header, /three parts/],
  ['of five parts', () => `${good}.a.b`, /three parts/],
  [
    'no JSON',
    () => `${Buffer.from('hello').toString('base64url')}.${payload}.${signature}`,
    /header is not valid JSON/,
  ],
  ['a list as payload', () => provider.signText('[1]'), /payload is not a JSON object/],
  ['with the subject twice', text((json) => json.replace('"sub":"ann"', '"sub":"bob","sub":"ann"')), /"sub" twice/],
  ['with groups twice', text((json) => json.replace('"groups"', '"groups":["root"],"groups"')), /"groups" twice/],
  ['with the end as a text', claims({ exp: String(seconds + 600) }), /exp/],
  ['with the end as a huge number', text((json) => json.replace(/"exp":\d+/, '"exp":1e400')), /exp|valid/],
  ['with a number as subject', claims({ sub: 7 }), /claim sub|"sub"/],
  ['with an empty subject', claims({ sub: '' }), /claim sub is no short text/],
  ['with a long subject', claims({ sub: 'x'.repeat(300) }), /claim sub is no short text/],
  ['with a subject of two lines', claims({ sub: 'ann\nbob' }), /claim sub is no short text/],
  ['with a blank subject', claims({ sub: '  ' }), /claim sub is no short text/],
  ['with a subject of a hidden character', claims({ sub: 'ann\u200b' }), /claim sub is no short text/],
  ['with a line separator in the name', claims({ name: 'Ann\u2028Lee' }), /claim name is no short text/],
  ['with an object as mail', claims({ email: { a: 1 } }), /claim email is no short text/],
  ['with groups as a text', claims({ groups: 'team' }), /claim groups is not a list of texts/],
  ['with numbers as groups', claims({ groups: [1, 'team'] }), /claim groups is not a list of texts/],
  ['with groups as an object', claims({ groups: { team: true } }), /claim groups is not a list of texts/],
  ['without groups', claims({ groups: undefined }), /has no claim groups/],
  ['bound to a key', claims({ cnf: { jkt: 'x' } }), /bound to a key/],
]

/** The header names a key and an address from which to fetch it. */
async function signedByItself() {
  const own = stranger.key()
  return signText(JSON.stringify(provider.payloadOf()), own, {
    ...{ kid, jwk: own.publicJwk, jku: `${stranger.url}/keys`, x5u: `${stranger.url}/keys` },
  })
}

for (const [name, token, reason] of hostile)
  test(`a token is refused: ${name}`, async () => {
    const made = await token()
    await assert.rejects(verify(made), (error) => {
      assert(error instanceof ServiceError, String(error))
      assert.equal(error.code, 'invalid_token')
      assert.match(error.message, reason)
      assert.doesNotMatch(error.message, /ey[A-Za-z0-9_-]{10}/, 'no part of the token is repeated')
      return true
    })
  })

test('a name cannot turn around the text beside it', async () => {
  const { name } = await verify(await provider.sign({ name: '\u202eeel nnA', email: 'ann@example.com\u2066' }))
  assert.equal(name, 'eel nnA <ann@example.com>')
  const blank = await verify(await provider.sign({ name: ' \u200b', email: 'ann@example.com' }))
  assert.equal(blank.name, 'ann@example.com', 'some providers name somebody without a name by a space')
})

test('a good token is taken, also a minute after its end by another clock, and with nested groups', async () => {
  const given = { email: 'ann@example.com', name: 'Ann', aud: ['other', audience] }
  const { subject, mail, name, groups } = await verify(await provider.sign(given))
  assert.deepEqual([subject, mail, name, groups], ['ann', 'ann@example.com', 'Ann <ann@example.com>', ['team']])
  assert.equal((await verify(await provider.sign({ exp: seconds - 30 }))).mail, null)
  for (const no of [false, 'false'])
    assert.equal((await verify(await provider.sign({ email: 'a@b', email_verified: no }))).mail, null)
  const nested = await provider.sign({ groups: undefined, realm_access: { roles: ['deep'] } })
  assert.deepEqual((await verify(nested, 'realm_access.roles')).groups, ['deep'])
  const dotted = await provider.sign({ 'https://example.com/groups': ['url'] })
  assert.deepEqual((await verify(dotted, 'https://example.com/groups')).groups, ['url'])
  await assert.rejects(verify(good, 'constructor.name'), /has no claim constructor.name/)
})

test('known keys serve while the provider is away; an unknown one is asked for once in a while', async () => {
  const own = await startIssuer()
  let nowMs = 0
  const known = createIssuer({ ...settings, issuer: new URL(own.url) }, createLog('test', 'silent'), () => nowMs)
  const check = (token: string) =>
    verifyToken(token, { issuer: own.url, audiences: [audience], groupsClaim: 'groups' }, known)
  const old = await own.sign()
  await Promise.all([check(old), check(old), check(old)])
  assert.equal(own.asked.keys, 1, 'requests at once ask once')
  await own.rotate({ kid: 'second' })
  const fresh = await own.sign()
  await assert.rejects(check(fresh), /no such signing key/)
  assert.equal(own.asked.keys, 1, 'not so soon')
  nowMs += 31_000
  await check(fresh)
  await assert.rejects(check(old), /no such signing key/, 'a withdrawn key is forgotten')
  assert.equal(own.asked.keys, 2)
  await own.rotate({ kid: 'third' })
  nowMs += 3_600_000
  await assert.rejects(check(fresh), /no such signing key/, 'also by the first request after a long time')
  const newest = await own.sign()
  await own.stop()
  nowMs += 3_600_000
  await check(newest)
  await check(newest)
})

test('while the provider has never answered, a token gets 503, and the provider is asked once in a while', async () => {
  const own = await startIssuer()
  const token = await own.sign()
  await own.stop()
  const away = createIssuer({ ...settings, issuer: new URL(own.url) }, createLog('test', 'silent'))
  const isAway = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable'
  const rules = { issuer: own.url, audiences: [audience], groupsClaim: 'groups' }
  // Requests at once share one question, and its failure.
  const atOnce = await Promise.allSettled([1, 2, 3].map(() => verifyToken(token, rules, away)))
  for (const each of atOnce) assert.ok(each.status === 'rejected' && isAway(each.reason))
  await assert.rejects(verifyToken(token, rules, away), isAway)
})
