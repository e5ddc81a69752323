import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resignalWorkflows } from '../../src/loops/resignal-workflows.ts'

test('every open fine-tune is signalled once, and the loop ends', async () => {
  const signalled: string[] = []
  const loop = resignalWorkflows({
    listOpen: async (type) => new Set(type === 'fineTune' ? ['a', 'b'] : []),
    resendSlotSignal: async (workflowId) => void signalled.push(workflowId),
  })
  assert.equal(await loop.pass(new AbortController().signal), 'done')
  assert.deepEqual(signalled, ['a', 'b'])
})
