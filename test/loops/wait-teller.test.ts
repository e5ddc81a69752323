import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitTeller } from '../../src/loops/wait-teller.ts'
import type { UntoldWait } from '../../src/repositories/attempt-waits.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import type { ShownWait } from '../../workflows/contract.ts'

const wait = (jobId: number, changes: Partial<UntoldWait> = {}): UntoldWait => ({
  ...{ attemptId: `a${jobId}`, jobId, number: 1, ahead: 3, reason: 'waiting_for_slot', message: 'Waiting.' },
  ...changes,
})

/** A loop over these waits. Telling `failing` fails. */
function loopOver(waits: UntoldWait[], failing?: string) {
  const told: [string, ShownWait][] = []
  const forgotten: string[] = []
  const explained: string[] = []
  const woken: [string, () => void][] = []
  const loop = waitTeller({
    database: {
      attemptWaits: {
        exist: async () => waits.length > 0,
        takeUntold: async () => waits,
        longestHeld: async () => ({ jobId: 6, since: new Date('2026-11-20T03:20:00Z') }),
        forget: async (ids) => void forgotten.push(...ids),
        explain: async ({ reason }) => void explained.push(reason),
      },
      installation: {
        maintenance: async () => ({ since: new Date(0), message: '' }),
      } as Partial<Repositories['installation']> as Repositories['installation'],
    },
    notifications: {
      on(channel, wake) {
        woken.push([channel, wake])
        return () => undefined
      },
    },
    executions: {
      tellWait: async (workflowId, shown) => {
        if (workflowId === failing) throw new Error('Temporal is away')
        told.push([workflowId, shown])
      },
    },
    slots: () => 1,
  })
  return { told, forgotten, explained, woken, loop, pass: () => loop.pass(new AbortController().signal) }
}

test('a workflow is told its place in the line, or what its program waits for', async () => {
  const pending = { ahead: null, reason: 'unschedulable', message: 'No node has room: nvidia.com/gpu.' }
  const { told, explained, pass } = loopOver([
    wait(7),
    wait(8, pending),
    wait(9, { reason: 'maintenance', message: 'Stopped.' }),
  ])
  assert.equal(await pass(), 5000)
  const [place, cluster, maintenance] = told.map(([, shown]) => shown)
  assert.match(place?.message ?? '', /^3 ahead; 1 slot, held by job 6 since 2026-11-20 03:20 UTC/)
  assert.deepEqual(cluster, { attempt: 1, reason: 'unschedulable', message: pending.message })
  assert.equal(maintenance?.message, 'Stopped.')
  assert.equal(told[0]?.[0], 'fine-tune-7')
  assert.deepEqual(explained, ['maintenance'])
})

test('waits that Temporal did not take are told again', async () => {
  const { told, forgotten, pass } = loopOver([wait(7), wait(8), wait(9)], 'fine-tune-8')
  await assert.rejects(pass(), /Temporal is away/)
  assert.deepEqual(
    told.map(([id]) => id),
    ['fine-tune-7'],
  )
  assert.deepEqual(forgotten, ['a8', 'a9'])
})

test('a full portion is followed by the next at once', async () => {
  const { pass } = loopOver(Array.from({ length: 100 }, (_, id) => wait(id)))
  assert.equal(await pass(), 0)
})

test('nothing is asked for a minute while no attempt waits, unless an attempt opens', async () => {
  const { explained, woken, loop, pass } = loopOver([])
  assert.equal(await pass(), 60_000)
  assert.deepEqual(explained, [])
  let wakes = 0
  loop.subscribe?.(() => (wakes += 1))
  for (const [channel, wake] of woken) if (channel === 'waits') wake()
  assert.equal(wakes, 1)
})
