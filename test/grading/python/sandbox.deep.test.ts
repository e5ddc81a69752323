// Graders that take all the time, memory or disk that they get. Each takes its limits, so the lane of programs has none of them.
import { test } from 'node:test'
import { slowAttacks } from './hostile-graders.ts'
import { skip, withAttack } from './support.ts'

for (const [name, attack] of Object.entries(slowAttacks))
  test(`a grader that ${name} costs its own sample only`, { skip }, () => withAttack(attack, { sampleMs: 5000 }))
