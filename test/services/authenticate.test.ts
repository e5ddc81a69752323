// When a key is looked up: the clock and the database are the test's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeApiKey, parseApiKey } from '../../src/domain/identifiers.ts'
import { createLog } from '../../src/log.ts'
import type { ApiKeyRecord } from '../../src/repositories/accounts.ts'
import { createAuthenticate } from '../../src/services/authenticate.ts'
import type { ServiceDependencies } from '../../src/services/context.ts'

function startKey() {
  const key = makeApiKey()
  const { id, secretHash } = parseApiKey(key) ?? assert.fail()
  const lastUsedAt = new Date(Date.now() + 60_000)
  const live: ApiKeyRecord = { id, accountId: 'a', secretHash, scopes: ['read'], lastUsedAt, person: null }
  const lookUps: PromiseWithResolvers<ApiKeyRecord | null>[] = []
  const findLiveApiKey = () => {
    const lookUp = Promise.withResolvers<ApiKeyRecord | null>()
    lookUps.push(lookUp)
    return lookUp.promise
  }
  const deps = { database: { accounts: { findLiveApiKey } }, log: createLog('test', 'silent') }
  const clock = { nowMs: 0 }
  const authenticate = createAuthenticate(deps as unknown as ServiceDependencies, () => clock.nowMs)
  return { live, lookUps, clock, call: () => authenticate(`Bearer ${key}`) }
}

test('a key in use is looked up before its time is over, and its requests do not wait for that', async () => {
  const { live, lookUps, clock, call } = startKey()
  const first = call()
  lookUps[0]?.resolve(live)
  assert.equal(await first, live)
  clock.nowMs = 500
  assert.equal(await call(), live)
  assert.equal(await call(), live)
  assert.equal(lookUps.length, 2)
  const renewed = { ...live }
  lookUps[1]?.resolve(renewed)
  await lookUps[1]?.promise
  clock.nowMs = 1300
  assert.equal(await call(), renewed)
  assert.equal(lookUps.length, 3)
})

test('uses a looked-up key for at most a second, also when the next look-up hangs or fails', async () => {
  for (const end of ['pending', 'failed', 'revoked'] as const) {
    const { live, lookUps, clock, call } = startKey()
    const first = call()
    lookUps[0]?.resolve(live)
    await first
    clock.nowMs = 899
    await call()
    if (end === 'failed') lookUps[1]?.reject(new Error('away'))
    if (end === 'revoked') lookUps[1]?.resolve(null)
    if (end !== 'pending') await lookUps[1]?.promise.catch(() => undefined)
    clock.nowMs = 1000
    const late = call()
    if (end !== 'revoked') lookUps[2]?.resolve(null)
    await assert.rejects(late, { code: 'invalid_token' }, end)
  }
})

test('the use of a key is stored only after its secret was right, and once', async () => {
  const rightKey = makeApiKey()
  const { id, secretHash } = parseApiKey(rightKey) ?? assert.fail()
  const written: string[] = []
  const live: ApiKeyRecord = { id, accountId: 'a', secretHash, scopes: ['read'], lastUsedAt: null, person: null }
  const accounts = {
    findLiveApiKey: () => Promise.resolve(live),
    noteKeyUse: (used: string) => Promise.resolve(void written.push(used)),
  }
  const deps = { database: { accounts }, log: createLog('test', 'silent') }
  const authenticate = createAuthenticate(deps as unknown as ServiceDependencies, () => 0)
  const secretAt = `ank_${id}_`.length
  const wrongKey = rightKey.slice(0, secretAt) + makeApiKey().slice(secretAt)
  await assert.rejects(authenticate(`Bearer ${wrongKey}`), { code: 'invalid_token' })
  assert.deepEqual(written, [])
  for (let request = 0; request < 3; request++) await authenticate(`Bearer ${rightKey}`)
  assert.deepEqual(written, [id])
})
