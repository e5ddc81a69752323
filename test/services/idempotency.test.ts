import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ctx } from '../../src/services/context.ts'
import { once } from '../../src/services/idempotency.ts'

test('a request keeps its key while it works, and no longer', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] })
  let renewals = 0
  const idempotencyKeys = {
    claim: async () => null,
    renew: async () => void renewals++,
    answer: async () => true,
  }
  const tx = { idempotencyKeys }
  const ctx = { accountId: 'a', deps: { database: tx } } as unknown as Ctx
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
