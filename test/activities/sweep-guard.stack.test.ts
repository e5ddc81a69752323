// A worker with the wrong DATABASE_URL: its sweep removes nothing and raises the alert.
import { MockActivityEnvironment } from '@temporalio/testing'
import { ApplicationFailure } from '@temporalio/activity'
import { DefaultLogger } from '@temporalio/worker'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { createRetentionActivities, type RetentionDependencies } from '../../activities/retention.ts'
import type { RefusalReason } from '../../activities/sweep-guard.ts'
import { storageKeys } from '../../src/domain/storage-keys.ts'
import { connectDatabase, type Database } from '../../src/repositories/database.ts'
import { markEmptyBucket, readInstallation } from '../../activities/installation-mark.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'
import { connection } from '../support/stack.ts'

/** More than a sweep may remove of a small bucket. */
const objectCount = 120

suite('the sweep of a bucket', async () => {
  const [empty, right] = [await aDatabase(), await aDatabase()]

  async function aDatabase(): Promise<Database> {
    const scratch = await createScratchDatabase()
    const database = connectDatabase(scratch.url, { poolSize: 2 })
    after(async () => {
      await database.close()
      await scratch.drop()
    })
    return database
  }

  async function aBucket() {
    const { endpoint, accessKey, secretKey } = connection().s3
    const bucket = `sweep-${randomUUID()}`
    const storage = createStorage({ endpoint, region: 'us-east-1', bucket, accessKey, secretKey })
    await storage.ensureBucket()
    const artifactId = randomUUID()
    const keys = Array.from({ length: objectCount }, (_, i) => storageKeys.artifact(1, artifactId, String(i)))
    await Promise.all(keys.map((key) => storage.write(key, Buffer.from('x'))))
    return { storage, artifactId, keys }
  }
  type Bucket = Awaited<ReturnType<typeof aBucket>>

  /** The sweep as the worker's activity. @returns how many objects it removed, and the counted refusals */
  async function sweep({ storage }: Bucket, of: Database) {
    const refusals: RefusalReason[] = []
    const unused = {} as Pick<
      RetentionDependencies,
      'trainers' | 'modelServers' | 'executions' | 'removeParts' | 'removePolicies'
    >
    const settings = { retention: {}, sweep: { olderThanMs: 0, maxShare: 0.05 } } as RetentionDependencies['settings']
    const { removeOrphanedObjects } = createRetentionActivities({
      ...unused,
      database: of,
      storage,
      settings,
      log: { error: () => undefined },
      countRefusedSweep: (reason) => refusals.push(reason),
    })
    try {
      return {
        removed: await new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(
          removeOrphanedObjects,
        ),
        refusals,
      }
    } catch (error) {
      assert.ok(error instanceof ApplicationFailure && error.nonRetryable === true, String(error))
      return { removed: 0, refusals }
    }
  }

  /** From now on the right database names every object of the bucket. */
  async function nameAll({ artifactId }: Bucket) {
    const { id: jobId } = await openJob(right, await anAccount(right))
    await right.artifacts.create({
      id: artifactId,
      jobId,
      attempt: 1,
      kind: 'model',
      step: 1,
      specHash: 'h',
      files: [],
    })
  }

  async function assertAllThere({ storage, keys }: Bucket) {
    for (const key of keys) assert.ok(await storage.stat(key), key)
  }

  test('with an empty, migrated database removes nothing and is counted as refused', async () => {
    const bucket = await aBucket()
    await nameAll(bucket)
    assert.deepEqual(await sweep(bucket, right), { removed: 0, refusals: [] })
    assert.deepEqual(await sweep(bucket, empty), { removed: 0, refusals: ['another_installation'] })
    await assertAllThere(bucket)
  })

  test('removes nothing with an empty database before the bucket has an id, and writes no id', async () => {
    const bucket = await aBucket()
    assert.deepEqual(await sweep(bucket, empty), { removed: 0, refusals: ['unknown_bucket'] })
    await assertAllThere(bucket)
    assert.equal(await bucket.storage.stat(storageKeys.installation), null)
  })

  test('with its own database that has lost its rows does the same', async () => {
    const bucket = await aBucket()
    await bucket.storage.write(storageKeys.installation, Buffer.from(await empty.installation.id()))
    assert.deepEqual(await sweep(bucket, empty), { removed: 0, refusals: ['too_many_objects'] })
    await assertAllThere(bucket)
  })

  test('removes objects without a row with its own database, also after a restore of a bucket without an id', async () => {
    const bucket = await aBucket()
    const lost = storageKeys.artifact(1, randomUUID(), 'late')
    await nameAll(bucket)
    for (const lostObjects of [[], [storageKeys.installation]]) {
      await bucket.storage.remove(lostObjects)
      await bucket.storage.write(lost, Buffer.from('x'))
      assert.deepEqual(await sweep(bucket, right), { removed: 1, refusals: [] })
      assert.equal(await bucket.storage.stat(lost), null)
    }
    await assertAllThere(bucket)
  })

  test('marks an empty bucket before any sweep, and leaves one with objects or another mark alone', async () => {
    const { storage, keys } = await aBucket()
    assert.equal(await markEmptyBucket(storage, 'mine'), null)
    assert.equal(await readInstallation(storage), null)
    await storage.remove(keys)
    assert.equal(await markEmptyBucket(storage, 'mine'), 'mine')
    assert.equal(await markEmptyBucket(storage, 'other'), 'mine')
  })

  test('a single database gets a new bucket that two databases meet at once', async () => {
    const bucket = await aBucket()
    await bucket.storage.remove(bucket.keys)
    const both = await Promise.all([sweep(bucket, empty), sweep(bucket, right)])
    assert.deepEqual(
      both.flatMap(({ refusals }) => refusals),
      ['another_installation'],
    )
    for (const [i, of] of [empty, right].entries())
      assert.deepEqual((await sweep(bucket, of)).refusals, both[i]?.refusals)
  })
})
