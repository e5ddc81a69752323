// Usage reports are added to Postgres exactly once.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { dayOf } from '../../src/domain/usage.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('batches of usage', () => {
  const database = openDatabase(4)
  const sandbox = createSandbox(database)
  const today = dayOf(new Date())
  const tomorrow = dayOf(new Date(Date.now() + 24 * 3_600_000))

  function batchOf(accountId: string, prompts: number) {
    const none = { promptTokens: 0, completionTokens: 0, engineSeconds: 0, gpuSeconds: 0 }
    return [{ accountId, day: today, apiKeyId: 'k', model: 'm', prompts, ...none }]
  }
  async function promptsOf({ usage }: Pick<Repositories, 'usage'>, accountId: string) {
    const [line] = await usage.list(accountId, {
      ...{ from: today, to: tomorrow, by: [], embeddingModels: [], after: null, limit: 10 },
    })
    return line?.prompts ?? 0
  }

  test('a repeated batch adds nothing, not even while the first is still being written', async () => {
    const { id } = await database.accounts.create('usage')
    const [writer, other] = [randomUUID(), randomUUID()]
    const add = (by: string, batch: number, prompts: number) =>
      database.usage.add({ writer: by, batch, entries: batchOf(id, prompts) })
    await Promise.all([add(writer, 1, 1), add(writer, 1, 1), add(writer, 1, 1), add(other, 1, 10)])
    assert.equal(await promptsOf(database, id), 11)
    await add(writer, 2, 100)
    await add(writer, 2, 100)
    assert.equal(await promptsOf(database, id), 111)
  })

  test('forget their writers by age, and keep the counts', () =>
    sandbox(async (tx) => {
      const { id } = await tx.accounts.create('usage')
      const first = { writer: randomUUID(), batch: 1, entries: batchOf(id, 1) }
      await tx.usage.add(first)
      assert.equal(await tx.retention.deleteOld('usage_writers', new Date(0), 10), 0)
      assert.ok((await tx.retention.deleteOld('usage_writers', new Date(Date.now() + 60_000), 100_000)) >= 1)
      assert.equal(await promptsOf(tx, id), 1)
      await tx.usage.add({ ...first, batch: 2 })
      assert.equal(await promptsOf(tx, id), 2)
    }))
})
