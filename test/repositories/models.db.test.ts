// The list of tuned models on the real database: in pages, none lost and none twice.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { sha256Hex } from '../../src/domain/identifiers.ts'
import type { ModelPlace } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { encodeModelCursor, listModels } from '../../src/services/models/list.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { contextOf } from '../support/service-context.ts'

suite('the list of tuned models', () => {
  const database = openDatabase()

  async function publishModels(tx: Repositories, accountId: string, count: number): Promise<string[]> {
    const { id: jobId } = await openJob(tx, accountId)
    const names = Array.from({ length: count }, () => sha256Hex(randomUUID()))
    for (const name of names) {
      const artifactId = randomUUID()
      const artifact = { id: artifactId, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h' } as const
      await tx.artifacts.create({ ...artifact, files: [] })
      await tx.models.publish({ name, accountId, jobId, artifactId, baseModel: 'm', files: [] })
    }
    return names
  }

  test('comes in pages that neither lose nor repeat a model, and shows no other account', () =>
    createSandbox(database)(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      const published = await publishModels(tx, accountId, 7)
      await publishModels(tx, other, 2)
      const ctx = contextOf({ deps: { database: tx }, accountId })
      const list = async (input: { after?: string; limit?: number }) =>
        (await Array.fromAsync(listModels({ ctx, input }))).flat()
      const namesOf = (models: { name: string }[]) => models.map(({ name }) => name)
      const all = await list({})
      assert.deepEqual(namesOf(all).toSorted(), published.toSorted())
      const placeOf = ({ createdMicros, name }: ModelPlace) => `${createdMicros} ${name}`
      assert.deepEqual(all.map(placeOf), all.map(placeOf).toSorted().toReversed())
      const first = await list({ limit: 3 })
      const after = encodeModelCursor(first.at(-1) ?? assert.fail())
      const second = namesOf(await list({ after, limit: 100 }))
      assert.deepEqual([...namesOf(first), ...second], namesOf(all))
      const [gone = assert.fail()] = first.slice(-1)
      await tx.models.delete({ accountId, name: gone.name, artifactId: await artifactOf(tx, accountId, gone.name) })
      assert.deepEqual(namesOf(await list({ after })), second)
    }))

  const artifactOf = async (tx: Repositories, accountId: string, name: string) =>
    (await tx.models.find(accountId, name))?.artifactId ?? assert.fail()
})
