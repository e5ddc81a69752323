// Evals and their runs on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { EvalDefinition, EvalRunRequest } from '../../src/domain/eval-run.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('evals', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)
  const definition: EvalDefinition = { itemSchema: { z: 1, a: 2 }, includesSample: false, criteria: [] }

  async function anEval(tx: Repositories, accountId: string) {
    const id = randomUUID()
    await tx.evals.create({ id, accountId, name: 'n', metadata: { b: '1', a: '2' }, definition })
    return id
  }

  async function aRun(tx: Repositories, accountId: string, evalId: string, more: Partial<EvalRunRequest> = {}) {
    const id = randomUUID()
    const run = { evalId, ...more } as EvalRunRequest
    const request = { models: [{ name: 'm', modelName: 'm' }], graders: null, maxTokens: 0, run }
    const rows = { rowsKey: `evaluations/${id}`, maxRows: 3, rowCount: 3, sizeBytes: 100 }
    const head = { id, accountId, apiKeyId: 'k', evalId, datasetId: '', dataKey: '' }
    await tx.modelEvaluations.createRun({ ...head, request, ...rows })
    return id
  }

  test('keep the order of their keys, and are found and changed by their account only', () =>
    sandbox(async (tx) => {
      const [accountId, stranger] = [await anAccount(tx), await anAccount(tx)]
      const id = await anEval(tx, accountId)
      const found = await tx.evals.find(accountId, id)
      assert.equal(JSON.stringify(found?.definition), JSON.stringify(definition))
      assert.equal(JSON.stringify(found?.metadata), '{"b":"1","a":"2"}')
      assert.equal(await tx.evals.find(stranger, id), null)
      const change = { name: 'other', metadata: undefined }
      assert.equal(await tx.evals.update({ accountId: stranger, id }, change), false)
      assert.equal(await tx.evals.update({ accountId, id }, change), true)
      assert.deepEqual((await tx.evals.find(accountId, id))?.metadata, { b: '1', a: '2' })
      assert.deepEqual([await tx.evals.hold(stranger, id), await tx.evals.hold(accountId, id)], [false, true])
    }))

  test('their runs count among the open evaluations and stored bytes, but are no evaluations of the list', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const evalId = await anEval(tx, accountId)
      const before = await tx.accounts.rowBytes(accountId)
      assert.ok(before > 0)
      const id = await aRun(tx, accountId, evalId)
      assert.deepEqual(await tx.modelEvaluations.openOf(accountId), { evaluationCount: 1, answerCount: 3 })
      assert.ok((await tx.accounts.rowBytes(accountId)) > before)
      assert.ok((await tx.accounts.storedBytes(accountId)) > 0)
      assert.equal(await tx.modelEvaluations.find(accountId, id), null)
      assert.deepEqual((await tx.modelEvaluations.list(accountId, { after: null, limit: 5 })).rows, [])
      assert.equal((await tx.modelEvaluations.findRun(accountId, { evalId, id }))?.evalId, evalId)
      assert.equal(await tx.modelEvaluations.findRun(accountId, { evalId: randomUUID(), id }), null)
      const all = { after: null, limit: 5, isOldestFirst: true, statuses: null }
      assert.equal((await tx.modelEvaluations.listRuns(evalId, all)).rows.length, 1)
      assert.equal((await tx.modelEvaluations.listRuns(evalId, { ...all, statuses: ['FAILED'] })).rows.length, 0)
      assert.deepEqual(await tx.modelEvaluations.listRunKeys(evalId), { openIds: [id], keys: [`evaluations/${id}`] })
      await tx.evals.remove(evalId)
      assert.deepEqual(await tx.modelEvaluations.openOf(accountId), { evaluationCount: 0, answerCount: 0 })
      assert.deepEqual([await tx.accounts.storedBytes(accountId), await tx.accounts.rowBytes(accountId)], [0, 0])
    }))

  test('a page ends where its texts fill it, and the next one begins there', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const evalId = await anEval(tx, accountId)
      const ids: string[] = []
      for (const megabytes of [3, 0, 3, 5, 0]) {
        const dataSource = { text: 'x'.repeat(megabytes * 1024 * 1024) }
        ids.push(await aRun(tx, accountId, evalId, { dataSource }))
      }
      const pages: string[][] = []
      // In one transaction all have the same time, so the ids decide.
      const sorted = ids.toSorted()
      for (let after: string | null = null, hasMore = true; hasMore; after = pages.at(-1)?.at(-1) ?? null) {
        const page: { after: string | null; limit: number; isOldestFirst: boolean; statuses: null } = {
          ...{ after, limit: 4, isOldestFirst: true, statuses: null },
        }
        const found = await tx.modelEvaluations.listRuns(evalId, page)
        hasMore = found.hasMore
        pages.push(found.rows.map(({ id }) => id))
      }
      assert.deepEqual(pages.flat(), sorted)
      const megabytesOf = (page: string[]) => page.reduce((sum, id) => sum + [3, 0, 3, 5, 0][ids.indexOf(id)]!, 0)
      for (const page of pages) assert.ok(page.length === 1 || megabytesOf(page) <= 1)
      assert.ok(pages.length >= 3)
    }))
})
