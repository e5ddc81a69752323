// A process that runs the schedules it receives, one at a time, in a build that may be broken.
import { readFileSync } from 'node:fs'
import { applyBreak } from './breaks.ts'
import { takeOverTime } from './clock.ts'
import type { Target } from './faults.ts'
import type { Outcome } from './schedule.ts'

export type Schedule = { seed: number; target?: Target | undefined }
export type Finished = { schedule: Schedule; outcome: Outcome; cpuMs: number }

const [bundlePath = '', breakName] = process.argv.slice(2)
if (breakName !== undefined) applyBreak(breakName)
const [{ createSandbox }, { runSchedule }] = await Promise.all([
  import('./temporal/sandbox.ts'),
  import('./schedule.ts'),
])
const sandbox = await createSandbox(readFileSync(bundlePath, 'utf8'))
takeOverTime()

process.on('message', (schedule: Schedule) => {
  const before = process.cpuUsage()
  void runSchedule(schedule.seed, sandbox, schedule).then((outcome) => {
    const { user, system } = process.cpuUsage(before)
    process.send?.({ schedule, outcome, cpuMs: (user + system) / 1000 } satisfies Finished)
  })
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
