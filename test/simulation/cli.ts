// `npm run test:simulation`: runs schedules and says what they violated.
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { breaks } from './breaks.ts'
import { runSchedules, seeds } from './run-schedules.ts'
import type { Schedule } from './schedule-process.ts'
import type { Report } from './tally.ts'

const usage = `npm run test:simulation [-- [--schedules 1000] [--from 1] [--cover] | [--seed N [--crash POINT@K]]]
  --schedules  how many, from the seed --from on
  --cover      then also a crash at every point that was passed and never crashed at
  --seed       one of them, again
  --crash      and kill the process at the K-th time that it passes this point
  --processes  side by side; default: as many as there are cores
  --break      in a deliberately broken build, up to its first violation:
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
  mostFailures: values.break === undefined ? 5 : 1,
  onProgress(done) {
    if (done % 500 === 0) console.error(`${done} schedules`)
  },
})
print(report)
process.exitCode = report.failures.length > 0 || (values.cover && report.uncovered.length > 0) ? 1 : 0

function print({ schedules, events, virtualMs, cpuMs, statuses, passed, uncovered, failures }: Report) {
  const seconds = Math.round((Date.now() - startedMs) / 1000)
  const days = (virtualMs / (24 * 60 * 60_000)).toFixed(1)
  console.log(`${schedules} schedules in ${seconds} s: ${events} events in ${days} days of virtual time`)
  console.log(`${(cpuMs / schedules).toFixed(0)} ms of CPU each, besides the start of the processes`)
  console.log(
    `jobs: ${Object.entries(statuses)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')}`,
  )
  console.log(`crash points: ${passed.size} passed, ${passed.size - uncovered.length} of them crashed at`)
  if (values.cover && uncovered.length > 0) console.log(`never crashed at: ${uncovered.join(', ')}`)
  for (const { schedule, violations } of failures) {
    console.log(`\nviolated; again with: npm run test:simulation -- ${argumentsOf(schedule)}`)
    for (const violation of violations) console.log(`  ${violation}`)
  }
  console.log(`${failures.length} violations`)
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
