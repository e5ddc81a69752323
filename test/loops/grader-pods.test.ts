import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GraderPodCompute } from '../../src/domain/grader-pods.ts'
import { graderPods } from '../../src/loops/grader-pods.ts'

/** A pass with one granted pod, which is not there yet. */
async function passWith(pods: Partial<GraderPodCompute>) {
  const pod = { accountId: 'a', imageTag: '2026-11-28', address: null, message: null, isRefused: false }
  const messages: unknown[] = []
  const warnings: object[] = []
  const loop = graderPods({
    database: {
      transaction: (() => Promise.resolve({ granted: [{ name: 'new', ...pod }], waiting: 0 })) as never,
      graderPods: { setPlace: async (_name, { message }) => void messages.push(message) },
    },
    notifications: { on: () => () => undefined },
    pods: { launch: async () => null, list: async () => [], remove: async () => undefined, ...pods },
    tokenOf: (name) => name,
    bounds: { ofAccount: 2, total: 8, idleMs: 1000 },
    log: { warn: (told: object) => void warnings.push(told) },
  })
  return { nextMs: await loop.pass(new AbortController().signal), messages, warnings: warnings.length }
}

test('a pod that cannot be removed keeps no other one from its start', async () => {
  const found = await passWith({
    list: async () => [{ name: 'old', uid: 'u', state: { is: 'over' } }],
    remove: () => Promise.reject(new Error('a webhook denies it')),
  })
  assert.deepEqual(found, { nextMs: 500, messages: ['The pod of this grader is being created.'], warnings: 1 })
})

test('a pod that can never be is not looked for as often as one that starts', async () => {
  const found = await passWith({ launch: async () => 'There is no image for it.' })
  assert.deepEqual(found, { nextMs: 5000, messages: ['There is no image for it.'], warnings: 0 })
})
