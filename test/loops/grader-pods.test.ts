import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graderPods } from '../../src/loops/grader-pods.ts'

test('a pod that cannot be removed keeps no other one from its start', async () => {
  const pod = { accountId: 'a', imageTag: '2026-11-28' as const, address: null, message: null, isRefused: false }
  const launched: string[] = []
  const places: [name: string, message: string | null][] = []
  const warnings: object[] = []
  const loop = graderPods({
    database: {
      transaction: (() => Promise.resolve({ granted: [{ name: 'new', ...pod }], waiting: 0 })) as never,
      graderPods: { setPlace: async (name, { message }) => void places.push([name, message]) },
    },
    notifications: { on: () => () => undefined },
    pods: {
      launch: async ({ name }) => {
        launched.push(name)
        return null
      },
      list: async () => [{ name: 'old', uid: 'u', state: { is: 'over' } }],
      remove: () => Promise.reject(new Error('a webhook denies it')),
    },
    tokenOf: (name) => name,
    bounds: { ofAccount: 2, total: 8, idleMs: 1000 },
    log: { warn: (told: object) => void warnings.push(told) },
  })
  assert.equal(await loop.pass(new AbortController().signal), 500)
  assert.deepEqual(
    [launched, places, warnings.length],
    [['new'], [['new', 'The pod of this grader is being created.']], 1],
  )
})
