// `npm run test:simulation`: runs schedules and prints the guarantees that they violated.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { breaks } from './breaks.ts'
import { runSchedules, seeds } from './run-schedules.ts'
import type { Schedule } from './schedule-process.ts'
import type { Report } from './tally.ts'

const usage = `npm run test:simulation [-- [--schedules 1000] [--from 1] [--cover] | [--seed N [--crash POINT@K]]]
  --schedules  number of schedules; the same number and --from give the same schedules and the same fingerprint
  --from       seed of the first schedule; each next one has the next seed
  --cover      afterwards crash once at every crash point that no schedule has crashed at
  --seed       run this schedule alone
  --crash      kill the process when it passes POINT for the K-th time
  --processes  schedules that run side by side; default: the number of cores
  --break      run a build that was broken on purpose, until the first violation:
               ${Object.keys(breaks).join('\n               ')}`

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    cover: { type: 'boolean', default: false },
    seed: { type: 'string' },
    crash: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    break: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}

const startedMs = Date.now()
const asked =
  values.seed === undefined
    ? seeds(Number(values.from), Number(values.schedules))
    : [{ seed: Number(values.seed), target: targetOf(values.crash) }]
const report = await runSchedules({
  schedules: asked,
  processes: Math.min(asked.length, Number(values.processes)),
  isCovering: values.cover,
  breakName: values.break,
  maxFailures: values.break === undefined ? 5 : 1,
  onProgress(done) {
    if (done % 500 === 0) console.error(`${done} schedules`)
  },
})
print(report)
process.exitCode = report.failures.length > 0 || (values.cover && report.uncovered.length > 0) ? 1 : 0

function print({ schedules, events, virtualMs, cpuMs, statuses, passed, uncovered, failures, fingerprints }: Report) {
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  const days = (virtualMs / (24 * 60 * 60_000)).toFixed(1)
  console.log(`${schedules} schedules in ${seconds} s: ${events} events in ${days} days of virtual time`)
  console.log(`${(cpuMs / schedules).toFixed(0)} ms of CPU each, not counting the start of the processes`)
  console.log(
    `jobs: ${Object.entries(statuses)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')}`,
  )
  console.log(`crash points: ${passed.size} passed, ${passed.size - uncovered.length} of them crashed at`)
  console.log(`fingerprint of all schedules: ${fingerprintOf(fingerprints)}`)
  if (values.cover && uncovered.length > 0) console.log(`never crashed at: ${uncovered.join(', ')}`)
  for (const { schedule, violations } of failures) {
    console.log(`\nviolated; repeat with: npm run test:simulation -- ${argumentsOf(schedule)}`)
    for (const violation of violations) console.log(`  ${violation}`)
  }
  console.log(`${failures.length} violations`)
}

/** The hash does not depend on the order in which the schedules ended. */
function fingerprintOf(fingerprints: Report['fingerprints']): string {
  const sum = [...fingerprints].reduce((total, [seed, each]) => (total + Math.imul(each, seed)) >>> 0, 0)
  return sum.toString(16)
}

function argumentsOf({ seed, target }: Schedule): string {
  const broken = values.break === undefined ? '' : ` --break '${values.break}'`
  return `--seed ${seed}${target ? ` --crash '${target.point}@${target.occurrence}'` : ''}${broken}`
}

function targetOf(text: string | undefined): Schedule['target'] {
  if (text === undefined) return undefined
  const at = text.lastIndexOf('@')
  return { point: text.slice(0, at) as `${string}/before`, occurrence: Number(text.slice(at + 1)) }
}
