// What an account stores is counted in the transaction of the row that names it, and stops to count with that row.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { TrainingJob, TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('stored bytes', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)
  const soon = () => new Date(Date.now() + 60_000)
  const end = (tx: Repositories, { id }: TrainingJob) =>
    tx.trainingJobs.move({ jobId: id, generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' })

  test('an upload counts from its first measure, by its larger size, until its row goes', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const stored = () => tx.accounts.storedBytes(accountId)
      const id = randomUUID()
      const uploadKey = `uploads/${accountId}/d/${id}`
      await tx.datasets.createVersion({ id, accountId, datasetId: id, version: 1, uploadKey })
      assert.deepEqual(await tx.datasets.recentUploads(accountId, 10), [{ id, uploadKey }])
      assert.equal(await stored(), 0)
      await tx.datasets.measure(id, 70)
      assert.equal(await stored(), 70)
      await tx.datasets.noteSize(id, 50)
      assert.equal(await stored(), 70)
      await tx.datasets.measure(id, 20)
      assert.equal(await stored(), 50)
      await tx.datasets.removeUnused(id)
      assert.equal(await stored(), 0)
    }))

  test('checkpoints and models count until they are deleted', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { jobId } = await openAttempt(tx, accountId)
      const files = [10, 20].map((sizeBytes) => ({ name: `${sizeBytes}`, key: 'k', sizeBytes, sha256: 'h' }))
      const id = randomUUID()
      await tx.artifacts.create({ id, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h', files })
      assert.equal(await tx.accounts.storedBytes(accountId), 30)
      const model = { name: randomUUID(), accountId, jobId, artifactId: id, baseModel: 'm', files: files.slice(1) }
      await tx.models.publish(model)
      assert.equal(await tx.accounts.storedBytes(accountId), 50)
      await tx.accountData.deleteJobs([jobId], [])
      assert.equal(await tx.accounts.storedBytes(accountId), 0)
    }))

  test('bytes in the database count apart from objects: kept responses, and the specs of large jobs', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const bytes = async () => [await tx.accounts.storedBytes(accountId), await tx.accounts.rowBytes(accountId)]
      await openJob(tx, accountId, { baseModel: 'ordinary' } as unknown as TrainingSpec)
      assert.deepEqual(await bytes(), [0, 0])
      const large = await openJob(tx, accountId, { baseModel: 'x'.repeat(20_000) } as unknown as TrainingSpec)
      const [, specBytes = 0] = await bytes()
      assert.ok(specBytes > 20_000 && specBytes < 21_000, String(specBytes))
      await tx.accountData.deleteJobs([large.id], [])
      assert.deepEqual(await bytes(), [0, 0])

      const response = { conversation: ['a'.repeat(1000)], response: {} }
      const limits = { responses: 2, bytes: 1e6 }
      for (let at = 0; at < 4; at++) await tx.storedResponses.add({ accountId, id: randomUUID() }, response, limits)
      const { count, bytes: kept } = await tx.storedResponses.keptOf(accountId)
      assert.deepEqual([count, await bytes()], [2, [0, kept]])
    }))

  test('rows that jobs share count once, are found by their bytes, and go when the last of the jobs has ended', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const [owner, other] = await jobsWithSharedRows(tx, accountId)
      assert.equal(await tx.accounts.storedBytes(accountId), 14)
      const found = await tx.trainingJobs.findPreparedData(owner.datasetVersionId, 'etag')
      assert.deepEqual([found?.owner, found?.prepared.train.key], [owner.id, `jobs/${owner.id}/data/train`])
      assert.equal(await tx.trainingJobs.findPreparedData(owner.datasetVersionId, 'other'), null)

      const unneeded = async () => {
        const held = await tx.retention.holdUnneededData(soon(), 100_000)
        return held.filter(({ id }) => id === owner.id || id === other.id)
      }
      await end(tx, owner)
      assert.deepEqual(await unneeded(), [])
      await end(tx, other)
      const held = await unneeded()
      assert.deepEqual(new Set(held.map(({ id }) => id)), new Set([owner.id, other.id]))
      const keys = ['train', 'lines', 'evaluation', 'skipped'].map((name) => `jobs/${owner.id}/data/${name}`)
      assert.deepEqual([held[0]?.keys, (await tx.trainingJobs.dataKeys([owner.id])).get(owner.id)], [keys, keys])
      await tx.retention.markDataRemoved([owner.id, other.id])
      assert.deepEqual(await unneeded(), [])
      assert.equal(await tx.accounts.storedBytes(accountId), 0)
      assert.equal(await tx.trainingJobs.holdPreparedData(owner.id), false)
      assert.equal(await tx.trainingJobs.findPreparedData(owner.datasetVersionId, 'etag'), null)
    }))
})

async function jobsWithSharedRows(tx: Repositories, accountId: string): Promise<[TrainingJob, TrainingJob]> {
  const spec = { evaluationKey: null } as TrainingSpec
  const owner = await openJob(tx, accountId, spec)
  const other = await openJob(tx, accountId, spec, owner.datasetVersionId)
  const file = (name: string, sizeBytes: number) => {
    const key = `jobs/${owner.id}/data/${name}`
    return { key, sizeBytes, sha256: 'h', rowCount: 1 }
  }
  const evaluation = { ...file('evaluation', 2), split: 'train' as const }
  for (const job of [owner, other])
    await tx.trainingJobs.setPreparedData(job, {
      ...{ train: { ...file('train', 3), lines: file('lines', 5) }, evaluation, skipped: file('skipped', 4) },
      ...{ sourceEtag: 'etag', reader: 1 },
    })
  return [owner, other]
}
