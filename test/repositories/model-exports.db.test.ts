// Merged exports on Postgres: what counts as stored, which program may write, and what an account may have open.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { sha256 } from '../../src/domain/identifiers.ts'
import type { ServiceError } from '../../src/domain/service-error.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { mergeModel } from '../../src/services/models/merge.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { contextOf } from '../support/service-context.ts'

suite('merged exports', () => {
  const database = openDatabase(8)
  const sandbox = createSandbox(database)
  const baseModel = {
    name: 'tiny',
    source: { path: 'tiny' },
    resources: { cpuCount: 1, memoryGiB: 1, gpuCount: 0, diskGiB: 1, replicas: 1 },
  }
  const files = [{ name: 'model.safetensors', sizeBytes: 70, sha256: 'a'.repeat(64) }]
  const token = (id: string, run: number) => sha256(`${id} ${run}`)

  async function anExport(tx: Repositories, accountId: string) {
    const id = randomUUID()
    await tx.modelExports.create({ id, accountId, modelName: 'm', request: { baseModel, adapter: [] } })
    return id
  }

  test('count the bytes of their files until they fail or are removed', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const id = await anExport(tx, accountId)
      await tx.modelExports.openRun({ id, number: 1 }, token(id, 1))
      await tx.modelExports.announce(id, files)
      assert.equal(await tx.accounts.storedBytes(accountId), 70)
      await tx.modelExports.openRun({ id, number: 2 }, token(id, 2))
      assert.equal(await tx.accounts.storedBytes(accountId), 0, 'another program begins anew')
      await tx.modelExports.announce(id, files)
      await tx.modelExports.fail(id, 'Why.')
      assert.equal(await tx.accounts.storedBytes(accountId), 0)
      const again = await anExport(tx, accountId)
      await tx.modelExports.openRun({ id: again, number: 1 }, token(again, 1))
      await tx.modelExports.announce(again, files)
      await tx.modelExports.complete(again)
      await tx.modelExports.fail(again, 'Too late.')
      assert.equal((await tx.modelExports.findUsable(accountId, 'm'))?.status, 'COMPLETED')
      assert.equal(await tx.accounts.storedBytes(accountId), 70)
      await tx.durableWork.remove('export', [id, again])
      assert.equal(await tx.accounts.storedBytes(accountId), 0)
    }))

  test('are written by their newest program alone, and known to the reaper while they are open', () =>
    sandbox(async (tx) => {
      const id = await anExport(tx, await anAccount(tx))
      await tx.modelExports.openRun({ id, number: 1 }, token(id, 1))
      await tx.modelExports.openRun({ id, number: 2 }, token(id, 2))
      assert.equal(await tx.modelExports.holdByToken(token(id, 1)), null)
      assert.equal((await tx.modelExports.holdByToken(token(id, 2)))?.id, id)
      const runs = [1, 2].map((number) => ({ id, number }))
      assert.deepEqual(await tx.modelExports.wantedRuns(runs), [{ id, number: 2 }])
      await tx.modelExports.closeRun({ id, number: 2 })
      assert.deepEqual(await tx.modelExports.wantedRuns(runs), [])
    }))

  test('are one for each model, and never more open than the account may have, when requests come at once', async () => {
    const accountId = await anAccount(database)
    const settings = { maxOpenExports: 2, maxStoredBytes: 1e12 }
    const models = { find: async (_account: string, name: string) => ({ name, baseModel: 'tiny', files: [] }) }
    const accounts = { ...database.accounts, findLiveApiKey: async () => ({ scopes: ['training'] }) }
    const deps = {
      database: { ...database, models, accounts },
      catalogue: { find: (name: string) => (name === 'tiny' ? baseModel : undefined) },
      settings,
    }
    const ctx = contextOf({ deps, accountId, apiKeyId: 'none', origin: { requestId: 'r', address: '::1' } })
    const make = (name: string) => mergeModel({ ctx, input: { name }, idempotency: null })
    const same = await Promise.all(Array.from({ length: 4 }, () => make('one')))
    assert.equal(new Set(same.map(({ id }) => id)).size, 1)
    const others = await Promise.allSettled(['two', 'three', 'four'].map(make))
    const refused = others.flatMap((each) => (each.status === 'rejected' ? [each.reason as ServiceError] : []))
    assert.deepEqual(
      refused.map(({ code }) => code),
      ['quota_exceeded', 'quota_exceeded'],
    )
    assert.match(refused[0]?.message ?? '', /2 open exports/)
    for (const { id } of same) await database.modelExports.fail(id, 'The test is over.')
    await assert.doesNotReject(make('three'))
  })
})
