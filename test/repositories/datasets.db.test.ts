// The lists of data sets and their versions on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { PreparedData, TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

const datasetId = 'rows'

suite('lists of data sets', () => {
  const sandbox = createSandbox(openDatabase())

  async function aVersion(tx: Repositories, accountId: string, version: number) {
    const id = randomUUID()
    await tx.datasets.createVersion({ id, accountId, datasetId, version, uploadKey: id })
    return id
  }

  test('each version has the jobs that train or evaluate on it, and the data set has those of all', () =>
    sandbox(async (tx) => {
      const [accountId, stranger] = [await anAccount(tx), await anAccount(tx)]
      await aVersion(tx, stranger, 1)
      const [first, second] = [await aVersion(tx, accountId, 1), await aVersion(tx, accountId, 2)]
      await aVersion(tx, accountId, 3)
      const trained = await openJob(tx, accountId, {} as TrainingSpec, first)
      const evaluated = await openJob(tx, accountId, { evaluationKey: second } as TrainingSpec, first)

      const page = (after: number | null, limit: number) =>
        tx.datasets.listVersions(accountId, { datasetId, after, limit })
      assert.deepEqual(
        (await page(null, 10)).map(({ version, jobIds }) => [version, jobIds]),
        [
          [3, []],
          [2, [evaluated.id]],
          [1, [evaluated.id, trained.id]],
        ],
      )
      assert.deepEqual(
        (await page(3, 1)).map(({ version }) => version),
        [2],
      )
      const [listed] = await tx.datasets.list(accountId, { after: null, limit: 10 })
      assert.deepEqual([listed?.version, listed?.versionCount, listed?.jobIds], [3, 3, [evaluated.id, trained.id]])
    }))

  test('a job on several data sets holds each of them until it has copied the rows, and is listed with each', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const [first, second, other] = [
        await aVersion(tx, accountId, 1),
        await aVersion(tx, accountId, 2),
        await aVersion(tx, accountId, 3),
      ]
      const sources = [first, second].map((versionId) => ({ datasetId, versionId, dataKey: versionId, weight: 1 }))
      const job = await openJob(tx, accountId, { dataKey: first, sources } as TrainingSpec, first)
      const holders = async () => [
        await tx.datasets.unpreparedJob([first]),
        await tx.datasets.unpreparedJob([other, second]),
        await tx.datasets.unpreparedJob([other]),
      ]
      assert.deepEqual(await holders(), [job.id, job.id, null])
      const listed = await tx.datasets.listVersions(accountId, { datasetId, after: null, limit: 10 })
      assert.deepEqual(
        listed.map(({ jobIds }) => jobIds),
        [[], [job.id], [job.id]],
      )
      await tx.trainingJobs.setPreparedData(job, { sourceEtag: 'a b' } as PreparedData)
      assert.deepEqual(await holders(), [null, null, null])
    }))
})
