// One attack on the stack of `npm test`: nobody else is refused, nothing is restarted, and the attacker is told why.
// The other attacks, and how much slower they make the victim, need a quiet machine: `npm run test:isolation`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeDir } from '../../support/stack.ts'
import { inferenceQueue } from './attacks/inference-queue.ts'
import { runAttack } from './run-attack.ts'
import { openStage } from './stack.ts'
import { judge } from './verdict.ts'

test('an account that fills the inference queue stops no other account, and is told so', async () => {
  const result = await runAttack(inferenceQueue, await openStage(homeDir, 'short'))
  assert.deepEqual(judge(result, { maxRatio: null }), [])
})
