import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remindOpenRuns } from '../../src/loops/resignal-workflows.ts'

test('every open run is reminded, however often Temporal does not answer at first', async () => {
  const reminded: string[] = []
  const troubles = ['list', 'b']
  const fails = (what: string) => {
    if (troubles[0] !== what) return
    troubles.shift()
    throw new Error('no answer')
  }
  const warnings: object[] = []
  await remindOpenRuns({
    runs: {
      listOpen: async (type) => {
        assert.equal(type, 'fineTune')
        fails('list')
        return new Set(['a', 'b'])
      },
      remind: async (workflowId) => {
        fails(workflowId)
        reminded.push(workflowId)
      },
    },
    log: { warn: (details: object) => void warnings.push(details) },
    signal: new AbortController().signal,
  })
  assert.deepEqual(reminded, ['a', 'a', 'b'])
  assert.equal(warnings.length, 2)
})
