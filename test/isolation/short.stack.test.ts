// The attacks at their short size, on the stack of `npm test`: nobody else is refused, nothing is restarted, and the
// attacker is told why. How much slower the victim gets is measured by `npm run test:isolation`.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { homeDir } from '../support/stack.ts'
import { attacks } from './attacks.ts'
import { runAttack } from './run-attack.ts'
import { openStage } from './stack.ts'
import { judge } from './verdict.ts'

suite('no account can stop another', () => {
  for (const attack of attacks.filter(({ seconds }) => seconds.short !== undefined))
    test(`${attack.name}: the victim is served, and the attacker gets clear answers`, async () => {
      const result = await runAttack(attack, await openStage(homeDir, 'short'))
      assert.deepEqual(judge(result, { maxRatio: null }), [])
      const { accepted, done } = result.attacker
      assert.equal(done, accepted, 'what was accepted is done')
    })
})
