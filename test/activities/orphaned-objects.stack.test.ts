// Which objects go, on the real stores: nothing that a row names or may name yet.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { sha256 } from '../../src/domain/identifiers.ts'
import { storageKeys } from '../../src/domain/storage-keys.ts'
import type { PreparedData } from '../../src/domain/training-job.ts'
import type { Database, Repositories } from '../../src/repositories/database.ts'
import { removeOrphanedObjects } from '../../activities/orphaned-objects.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { sampleRows } from '../support/rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { connection, openAccount } from '../support/stack.ts'

suite('the sweep of objects', async () => {
  const api = await openAccount()
  const database = openDatabase(3)
  const { endpoint, bucket, accessKey, secretKey } = connection().s3
  const storage = createStorage({ endpoint, region: 'us-east-1', bucket, accessKey, secretKey })
  const sandbox = createSandbox(database)
  const everything = { olderThanMs: 0, maxShare: 1 }

  async function put(...keys: string[]) {
    for (const key of keys) await storage.write(key, Buffer.from('x'))
  }

  async function assertLeft({ gone = [], there = [] }: { gone?: string[]; there?: string[] }) {
    for (const key of gone) assert.equal(await storage.stat(key), null, key)
    for (const key of there) assert.ok(await storage.stat(key), key)
  }

  /** As the transaction sees the rows. */
  const sweepIn = (tx: Repositories) =>
    removeOrphanedObjects({ database: { ...tx, transaction: (work) => work(tx) } as Database, storage }, everything)

  async function copyOfModel(accountId: string, metadata?: { job: string }) {
    const [from, name] = [`test/${randomUUID()}`, sha256(randomUUID()).toString('hex')]
    const key = storageKeys.model(accountId, name, 'adapter_config.json')
    await put(from)
    await storage.copy(from, key, metadata)
    await storage.remove([from])
    return { key, name }
  }

  const dataUnder = (key: string): PreparedData => {
    const file = { key, sizeBytes: 1, sha256: 'h', rowCount: 1 }
    return { train: file, evaluation: { ...file, split: 'train' }, sourceEtag: 'etag', reader: 1 }
  }

  const end = (tx: Repositories, jobId: number) =>
    tx.trainingJobs.move({ jobId, generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' })

  test('removes objects of batches without a row, and none of a running batch', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const folder = async (state: 'unknown' | 'running' | 'ended') => {
        const id = randomUUID()
        const [prompts = '', result = '', lost = ''] = ['items', 'result-1', 'result-2'].map((name) =>
          storageKeys.batch(accountId, id, `${name}.json`),
        )
        await put(prompts, result, lost)
        const batch = { id, accountId, apiKeyId: 'none', kind: 'embeddings', modelName: 'm', itemCount: 1 } as const
        const request = { chunkSize: 1, chunks: [], input: null }
        if (state !== 'unknown') await tx.inferenceBatches.create({ ...batch, request, promptsKey: prompts })
        if (state === 'ended') await tx.inferenceBatches.finish(id, result)
        return { prompts, result, lost }
      }
      const [unknown, running, ended] = [await folder('unknown'), await folder('running'), await folder('ended')]
      await sweepIn(tx)
      await assertLeft({
        gone: [...Object.values(unknown), ended.lost],
        there: [...Object.values(running), ended.prompts, ended.result],
      })
    }))

  test('removes an artifact written by a URL that outlived the row', () =>
    sandbox(async (tx) => {
      const { jobId } = await openAttempt(tx, await anAccount(tx))
      const id = randomUUID()
      await tx.artifacts.create({ id, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h', files: [] })
      const [kept, late] = [id, randomUUID()].map((each) => storageKeys.artifact(jobId, each, 'a'))
      const there = [kept ?? '', storageKeys.log(jobId, 1)]
      await put(late ?? '', ...there)
      await sweepIn(tx)
      await assertLeft({ gone: [late ?? ''], there })
    }))

  test('rows of a preparation that died go once their job has ended, and cannot be named any more', () =>
    sandbox(async (tx) => {
      const { id, generation } = await openJob(tx, await anAccount(tx))
      const [named = '', left = ''] = [1, 2].map(() => storageKeys.prepared(id, randomUUID(), 'train.jsonl'))
      await put(named, left)
      await sweepIn(tx)
      await assertLeft({ there: [named, left] })
      await tx.trainingJobs.setPreparedData({ id, generation }, dataUnder(named))
      await end(tx, id)
      await sweepIn(tx)
      await assertLeft({ gone: [left], there: [named] })

      const late = await openJob(tx, await anAccount(tx))
      await end(tx, late.id)
      await tx.trainingJobs.setPreparedData(late, dataUnder(left))
      await tx.trainingJobs.movePreparedData(late, dataUnder(left))
      await tx.trainingJobs.resume(late.id, 'test')
      await tx.trainingJobs.setPreparedData(late, dataUnder(left))
      assert.equal((await tx.trainingJobs.get(late.id)).preparedData, null)
    }))

  test('copies of a model that was never named go once their job has ended', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { id: jobId } = await openJob(tx, accountId)
      const job = String(jobId)
      const [unnamed, named] = [await copyOfModel(accountId, { job }), await copyOfModel(accountId, { job })]
      // Whose it is cannot be told.
      const older = await copyOfModel(accountId)
      const ofUnknownJob = await copyOfModel(accountId, { job: '999999999' })
      const artifactId = randomUUID()
      await tx.artifacts.create({ id: artifactId, jobId, attempt: 1, kind: 'model', step: 1, specHash: 'h', files: [] })
      await tx.models.publish({ name: named.name, accountId, jobId, artifactId, baseModel: 'm', files: [] })
      await sweepIn(tx)
      await assertLeft({ gone: [ofUnknownJob.key], there: [unnamed.key, named.key, older.key] })
      await end(tx, jobId)
      await sweepIn(tx)
      await assertLeft({ gone: [unnamed.key], there: [named.key, older.key] })
    }))

  test('removes nothing of a job that is being resumed, and nothing young', async () => {
    const id = await api.train({ data: sampleRows })
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.untilStatus(id, 'CANCELLED')
    const left = storageKeys.prepared(id, randomUUID(), 'train.jsonl')
    await put(left)
    await database.transaction(async (tx) => {
      await tx.trainingJobs.hold(id)
      await removeOrphanedObjects({ database, storage }, everything)
    })
    await removeOrphanedObjects({ database, storage }, { ...everything, olderThanMs: 24 * 3_600_000 })
    await assertLeft({ there: [left] })
    await removeOrphanedObjects({ database, storage }, everything)
    const { preparedData } = await database.trainingJobs.get(id)
    await assertLeft({ gone: [left], there: preparedData ? [preparedData.train.key, preparedData.evaluation.key] : [] })
  })
})
