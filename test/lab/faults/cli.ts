// `npm run test:faults`: the real stack under seeded faults, observed from outside: through the public API and /proc.
// faults.ts says what is injected; plan.ts and injections.ts when; workload.ts and jobs.ts what runs meanwhile;
// observations.ts, records.ts and programs.ts what must never be seen; ending.ts and table.ts close a run.
import { parseArgs } from 'node:util'
import { createRandom } from '../../inference/support/random.ts'
import { runCancels } from './cancels.ts'
import { hasClocks } from './clock.ts'
import { endAndCheck } from './ending.ts'
import { makeFaults } from './faults.ts'
import { populate, prepare } from './workload.ts'
import { inWorld, keptLogs } from './open-world.ts'
import { makePlan, makeSlice } from './plan.ts'
import { injectFaults } from './injections.ts'
import { runSoak, soakSettings } from './soak.ts'
import { outcomesOf, tableOf } from './table.ts'
import { runTraces } from './traces.ts'
import { violate, type World } from './world.ts'

const usage = `npm run test:faults [-- [--seconds 420 | --full | --slice] [--seed N] [--only TEXT,TEXT] | --cancels N | --traces N | --soak MINUTES]
  --seconds  inject for so long, then wait for every job: ten minutes in all
  --full     until every fault was injected as often as it should be: each kill 100 times, the others 10 times
  --slice    seven faults, each once, with seed 1 unless another is given: about two minutes
  --seed     which faults are injected in which order and state; default: the time
  --only     faults whose name contains one of these
  --steps    of each job (80, of a soak 30)
  --cancels  N cancels at random instants instead: what is left, and how long it takes, compared with a bare SIGTERM
  --traces   N kills of trainers at random instants instead: the losses are those of an uninterrupted run
  --soak     MINUTES of short jobs with a fault a minute instead: nothing may grow but what is kept of each job`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '420' },
    full: { type: 'boolean', default: false },
    slice: { type: 'boolean', default: false },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    steps: { type: 'string' },
    cancels: { type: 'string' },
    traces: { type: 'string' },
    soak: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}

const seed = Number(values.seed ?? (values.slice ? 1 : Math.floor(Date.now() / 1000)))
const again = [
  ...(values.slice ? ['--slice'] : []),
  '--seed',
  seed,
  ...(values.only === '' ? [] : ['--only', `'${values.only}'`]),
].join(' ')
const startedMs = Date.now()
const say = (text: string) => console.error(`${((Date.now() - startedMs) / 1000).toFixed(1).padStart(7)} s  ${text}`)

say(`seed ${seed}`)
const soakMinutes = values.soak === undefined ? null : Number(values.soak)
const maxSteps = Number(values.steps ?? (soakMinutes === null ? 80 : 30))
const settings = soakMinutes === null ? {} : soakSettings(soakMinutes)
await inWorld({ maxSteps, say, settings }, async (world, hasOwnDisk) => {
  await prepare(world)
  if (values.cancels !== undefined) await runCancels(world, Number(values.cancels), seed)
  else if (values.traces !== undefined) await runTraces(world, Number(values.traces), seed)
  else if (soakMinutes !== null) await runSoak(world, wantedFaults(hasOwnDisk), soakMinutes, seed)
  else await runFaults(world, hasOwnDisk)
  report(world)
})
process.exit()

async function runFaults(world: World, hasOwnDisk: boolean) {
  const faults = wantedFaults(hasOwnDisk)
  const plan = values.slice ? makeSlice(seed) : makePlan(seed, faults)
  const fromMs = Date.now()
  const untilMs = values.full || values.slice ? Infinity : fromMs + Number(values.seconds) * 1000
  const populating = populate(world, createRandom(seed + 1)).catch((error: unknown) =>
    violate(world, `no more jobs: ${(error as Error).stack}`),
  )
  const missing = await injectFaults(world, faults, plan, () => Date.now() > untilMs)
  const injectingMs = Date.now() - fromMs
  say(`injected ${world.injections.length} times, ${missing.length} of the plan left; waiting for every job`)
  world.isClosing = true
  await populating
  const records = await endAndCheck(world)
  console.log(tableOf(outcomesOf(world.jobs, records), world.violations))
  const perHour = Math.round((world.injections.length / injectingMs) * 3_600_000)
  const seconds = Math.round(injectingMs / 1000)
  console.log(`\n${world.injections.length} injections in ${seconds} s (${perHour} an hour), ${world.jobs.length} jobs`)
}

function wantedFaults(hasOwnDisk: boolean) {
  const wanted = values.only.split(',')
  const faults = makeFaults({ hasOwnDisk, hasClocks }).filter(({ name }) => wanted.some((text) => name.includes(text)))
  if (faults.length === 0) throw new Error(`no fault is named like ${values.only}`)
  return faults
}

function report({ violations }: World) {
  for (const { what, injection } of violations)
    console.log(`violated, after ${injection ? `${injection.fault} in ${injection.aim}` : 'no fault'}: ${what}`)
  console.log(`seed ${seed}: ${violations.length} violations`)
  if (violations.length === 0) return
  console.log(`again: npm run test:faults -- ${again}; the logs of this run are in ${keptLogs}`)
  process.exitCode = 1
}
