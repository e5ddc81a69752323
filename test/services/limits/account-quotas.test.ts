import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptUpload,
  requireRoomForUpload,
  requireRoomInDatabase,
} from '../../../src/services/limits/account-quotas.ts'
import { contextOf } from '../../support/service-context.ts'

/** An account that may store 100 bytes and has uploads of these sizes, which nothing has counted yet. */
function account(uploads: Record<string, number>) {
  const stored = new Map(Object.entries(uploads))
  const counted = new Map<string, number | null>()
  const count = async (id: string, sizeBytes: number | null) => void counted.set(id, sizeBytes)
  const ctx = contextOf({
    accountId: 'a',
    deps: {
      settings: { maxStoredBytes: 100 },
      database: {
        accounts: {
          storedBytes: async () => [...counted.values()].reduce<number>((sum, size) => sum + (size ?? 0), 0),
        },
        datasets: {
          noteSize: count,
          measure: count,
          recentUploads: async (_accountId: string, limit: number) =>
            [...stored.keys()].slice(0, limit).map((id) => ({ id, uploadKey: id })),
        },
      },
      storage: {
        stat: async (key: string) => (stored.has(key) ? { sizeBytes: stored.get(key), etag: 'e' } : null),
        remove: async (keys: string[]) => keys.forEach((key) => stored.delete(key)),
      },
    },
  })
  return { ctx, stored, accept: (id: string) => acceptUpload(ctx, { id, uploadKey: id }) }
}

const full = { code: 'quota_exceeded', message: /^This account has stored .* of data sets and models, the most/ }

test('an upload counts when it is first used, and is removed when it does not fit', async () => {
  const { stored, accept } = account({ one: 60, two: 50, three: 40 })
  assert.equal(await accept('nothing'), false)
  assert.equal(await accept('one'), true)
  await assert.rejects(accept('two'), full)
  assert.deepEqual([...stored.keys()], ['one', 'three'])
  assert.equal(await accept('three'), true)
})

test('uploads that nothing uses are counted before the next URL is issued', async () => {
  const { ctx } = account({ one: 60, two: 30 })
  await requireRoomForUpload(ctx)
  await assert.rejects(requireRoomForUpload(account({ one: 60, two: 40 }).ctx), full)
})

test('rows are refused by the limit of the database, however much room the object store has', async () => {
  const ctxOf = (rowBytes: number) =>
    contextOf({
      accountId: 'a',
      deps: { settings: { maxRowBytes: 100 }, database: { accounts: { rowBytes: async () => rowBytes } } },
    })
  await requireRoomInDatabase(ctxOf(99))
  await assert.rejects(requireRoomInDatabase(ctxOf(100)), {
    code: 'quota_exceeded',
    message: /^This account has stored 100 bytes of rows, answers and requests, the most/,
  })
})
