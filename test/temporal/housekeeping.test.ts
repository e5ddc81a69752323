import { WorkflowNotFoundError, type Client } from '@temporalio/client'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureHousekeeping } from '../../src/temporal/housekeeping.ts'
import { reaperWorkflowId } from '../../workflows/contract.ts'

/** A Temporal in which the reaper is as described, and the other workflows are open. */
async function callsFor(reaper: { status: string; failedTasks: number } | null): Promise<string[]> {
  const calls: string[] = []
  const client = {
    workflow: {
      getHandle: (id: string) => ({
        describe: async () => {
          const described = id === reaperWorkflowId ? reaper : { status: 'RUNNING', failedTasks: 0 }
          if (described === null) throw new WorkflowNotFoundError('none', id, undefined)
          const { status, failedTasks } = described
          return { runId: 'run', status: { name: status }, raw: { pendingWorkflowTask: { attempt: failedTasks + 1 } } }
        },
        terminate: async () => calls.push(`terminate ${id}`),
      }),
      start: async (type: string) => calls.push(`start ${type}`),
    },
  }
  await ensureHousekeeping(client as unknown as Client)
  return calls
}

test('housekeeping that is missing or has ended is started', async () => {
  for (const reaper of [null, { status: 'TERMINATED', failedTasks: 0 }, { status: 'TIMED_OUT', failedTasks: 9 }])
    assert.deepEqual(await callsFor(reaper), ['start reaper'])
})

test('housekeeping whose history no worker can replay is replaced; a few failed tasks may come from an update', async () => {
  assert.deepEqual(await callsFor({ status: 'RUNNING', failedTasks: 6 }), ['terminate anneal-reaper', 'start reaper'])
  assert.deepEqual(await callsFor({ status: 'RUNNING', failedTasks: 2 }), [])
})
