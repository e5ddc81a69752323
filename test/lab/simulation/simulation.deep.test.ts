// The guarantees under seeded schedules of crashes, lost answers, outages and users. docs/reliability.md says what is real
// here and what is simulated; `npm run test:simulation` runs more of them.
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { describe, test } from 'node:test'
import { breaks } from './breaks.ts'
import { runSchedules, seeds } from './run-schedules.ts'

const scheduleCount = 5000
/** With fewer of these, the schedules no longer reach all states that they should. */
const fewestPoints = 400
const maxSchedules = 1500
const processes = Math.min(2, availableParallelism())

describe('simulated schedules', () => {
  test('keep every guarantee, with a crash at every point', async () => {
    const report = await runSchedules({ schedules: seeds(1, scheduleCount), processes, isCovering: true })
    assert.deepEqual(report.failures, [])
    assert(report.passed.size >= fewestPoints, `only ${report.passed.size} crash points were passed`)
    assert.deepEqual(report.uncovered, [])
  })

  test('are the same for the same seed after any other schedules', async () => {
    const [before, again] = await Promise.all([
      runSchedules({ schedules: seeds(1, 12), processes: 1 }),
      runSchedules({ schedules: seeds(12, 1), processes: 1 }),
    ])
    assert.equal(again.fingerprints.get(12), before.fingerprints.get(12))
  })

  for (const [name, { seed }] of Object.entries(breaks))
    test(`notice a broken build: ${name}`, async () => {
      // If a change moves the random choices, another seed finds the bug.
      const schedules = [{ seed }, ...seeds(1, maxSchedules)]
      const report = await runSchedules({ schedules, processes: 1, breakName: name, maxFailures: 1 })
      assert.equal(report.failures.length, 1)
    })
})
