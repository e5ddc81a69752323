import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRetentionActivities, type RetentionDependencies } from '../../activities/retention.ts'
import { workKinds } from '../../src/domain/durable-work.ts'
import { retentionOf } from '../../src/domain/retention.ts'

const day = 24 * 60 * 60 * 1000
const now = new Date('2026-06-01T00:00:00Z')

/** Old work of each kind, and an object store that refuses `refused`. */
function create(refused: string) {
  const done: string[] = []
  const durableWork = {
    listOld: async (kind: string, before: Date) => {
      const isLeft = !done.includes(`rows of ${kind}`)
      return isLeft ? [{ id: `${(now.getTime() - before.getTime()) / day}-days`, accountId: 'a' }] : []
    },
    remove: async (kind: string) => done.push(`rows of ${kind}`),
  }
  const storage = {
    async removeFolder(folder: string) {
      if (folder.startsWith(refused)) throw new Error('away')
      done.push(folder)
    },
  }
  const settings = { retention: retentionOf({ scale: 1, auditDays: 400 }) }
  const activities = createRetentionActivities({
    ...{ database: { now: async () => now, durableWork, retention: {}, storedResponses: {} }, storage, settings },
  } as unknown as RetentionDependencies)
  const remove = (kind: string) => new MockActivityEnvironment().run(activities.removeOld, { kind })
  return { activities, remove, done }
}

test('removes each kind of work by itself: objects first, and rows only once their objects are gone', async () => {
  const { activities, remove, done } = create('evaluations/')
  const kinds = await activities.listOldKinds()
  assert.deepEqual(
    kinds.filter((kind) => workKinds.some((each) => each === kind)),
    workKinds,
  )
  assert.equal(await remove('batch'), 1)
  await assert.rejects(remove('evaluation'), /away/)
  assert.equal(await remove('export'), 1)
  assert.deepEqual(done, ['batches/a/7-days/', 'rows of batch', 'exports/a/7-days/', 'rows of export'])
  await assert.rejects(remove('sweep'), /no kind "sweep"/)
})
