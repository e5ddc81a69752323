import assert from 'node:assert/strict'
import { test } from 'node:test'
import { once } from '../../src/services/idempotency.ts'
import { contextOf } from '../support/service-context.ts'

test('a request keeps its key while it works, and no longer', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] })
  let renewals = 0
  const idempotencyKeys = {
    claim: async () => null,
    renew: async () => void renewals++,
    answer: async () => true,
  }
  const tx = { idempotencyKeys }
  const ctx = contextOf({ accountId: 'a', deps: { database: tx } })
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const answered = once<{ id: string }>(ctx, { key: 'k', requestHash: Buffer.from('h') }, async (answer) => {
    begun.resolve()
    await mayEnd.promise
    return answer(tx as never, { id: '1' })
  })
  await begun.promise
  mock.timers.tick(60_000)
  assert.equal(renewals, 3)
  mayEnd.resolve()
  assert.deepEqual(await answered, { id: '1' })
  mock.timers.tick(60_000)
  assert.equal(renewals, 3)
})
