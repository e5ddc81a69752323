import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideRestart, type ModelServerEnd } from '../../src/domain/model-server.ts'

const killed: ModelServerEnd = { cause: 'killed', message: 'killed' }

describe('a model server that ended', () => {
  it('starts again after 1 s, twice as long at each failure, and is given up at the fifth in a row', () => {
    const backOffs: number[] = []
    let failures = 0
    for (;;) {
      const decision = decideRestart({ end: killed, failures, readyForMs: 0 })
      if (decision.next === 'give_up') break
      failures = decision.failures
      backOffs.push(decision.backOffMs)
    }
    assert.deepEqual(backOffs, [1000, 2000, 4000, 8000])
  })

  it('starts again with a clean record after serving for a minute', () => {
    assert.deepEqual(decideRestart({ end: killed, failures: 4, readyForMs: 60_000 }), {
      next: 'restart',
      failures: 0,
      backOffMs: 1000,
    })
  })

  it('for a reason that lasts is given up at once', () => {
    for (const cause of ['model_unavailable', 'unsupported_runtime'] as const)
      assert.deepEqual(decideRestart({ end: { cause, message: '' }, failures: 0, readyForMs: 0 }), { next: 'give_up' })
  })
})
