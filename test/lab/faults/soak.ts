// An hour of short jobs with a fault a minute. Only the data that is kept of each job grows, by the same amount for each.
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../inference/support/random.ts'
import { endAndCheck } from './ending.ts'
import type { Fault } from './fault.ts'
import { populate } from './workload.ts'
import { makePlan } from './plan.ts'
import { meanOf, slopeOf, type Point } from './slope.ts'
import { boundOf, isKept, openSampler, type Sample, type Sampler } from './soak-samples.ts'
import { injectFaults } from './injections.ts'
import { violate, type World } from './world.ts'

const faultEveryMs = 60_000
const sampleEveryJobs = 5
/** Before the first sample caches fill, pools open, and old rows reach the age at which they are removed. */
const warmUpShare = 0.6
/** The same time for a figure that starts again with its process, counted from its first sample. */
const lifeWarmUpMs = 10 * 60_000
/** The growth allowed in a hundred jobs, as a share of the mean. */
const slopeAllowed = 0.01

/** Delivered messages are kept longest of all rows that retention removes: a third of the run. */
export const soakSettings = (minutes: number) => ({ ANNEAL_RETENTION_SCALE: String(minutes / 3 / (7 * 24 * 60)) })

type Series = Map<string, Point[]>
type Warm = (sample: Sample) => boolean

export async function runSoak(world: World, faults: readonly Fault[], minutes: number, seed: number) {
  const sampler = await openSampler(world)
  const fromMs = Date.now()
  const untilMs = fromMs + minutes * 60_000
  const series: Series = new Map()
  const populating = populate(world, createRandom(seed + 1))
  const warmFromMs = fromMs + minutes * 60_000 * warmUpShare
  const sampling = sampleAlong(world, sampler, series, warmFrom(warmFromMs))
  const kills = faults.filter(({ endsServer }) => endsServer)
  await killServers(world, kills, seed, warmFromMs)
  const others = faults.filter((fault) => !kills.includes(fault))
  await injectEachMinute(world, others, seed, untilMs)
  world.isClosing = true
  await Promise.all([populating, sampling])
  await sampler.close()
  await endAndCheck(world)
  report(world, series, minutes)
}

const planOf = (faults: readonly Fault[], seed: number, count: number) =>
  makePlan(
    seed,
    faults.map((fault) => ({ ...fault, count })),
  )

/** Kills one server of each kind early on, and none later: a server that restarts every half hour does not show its growth. */
async function killServers(world: World, kills: readonly Fault[], seed: number, untilMs: number) {
  await injectFaults(world, kills, planOf(kills, seed, 1), () => Date.now() > untilMs)
  for (const { name } of kills)
    if (world.injections.every(({ fault }) => fault !== name)) violate(world, `soak: ${name} injected nothing`)
}

async function injectEachMinute(world: World, faults: readonly Fault[], seed: number, untilMs: number) {
  for (const instant of planOf(faults, seed, 100)) {
    const nextMs = Date.now() + faultEveryMs
    if (nextMs > untilMs) break
    await injectFaults(world, faults, [instant], () => Date.now() > nextMs)
    await sleep(Math.max(0, nextMs - Date.now()))
  }
}

/** Takes a sample and runs retention after every few jobs. A server that is away is asked again. */
async function sampleAlong(world: World, sampler: Sampler, series: Series, isWarm: Warm) {
  for (let sampledAt = 0; !world.isClosing; await sleep(500)) {
    const jobs = world.jobs.filter(({ isDone }) => isDone).length
    if (jobs < sampledAt + sampleEveryJobs) continue
    try {
      await sampler.keepHouse()
      const samples = await sampler.measure()
      sampledAt = jobs
      world.say(`${jobs} jobs have ended`)
      note(series, samples.filter(isWarm), jobs)
    } catch (error) {
      world.say(`not measured: ${(error as Error).message}`)
    }
  }
}

/** Uses the samples after the warm-up of the run, and for a process those after its own warm-up. */
function warmFrom(runMs: number): Warm {
  const lives = new Map<string, number>()
  return ({ name, life }) => {
    const key = `${name}, ${life}`
    const warmMs = lives.get(key) ?? Date.now() + lifeWarmUpMs
    lives.set(key, warmMs)
    return Date.now() > Math.max(runMs, warmMs)
  }
}

function note(series: Series, samples: readonly Sample[], jobs: number) {
  for (const { name, value, life } of samples) {
    const points = series.get(name) ?? []
    points.push({ x: jobs, y: value, life })
    series.set(name, points)
  }
}

function report(world: World, series: Series, minutes: number) {
  const rows = [...series].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, points]) => rowOf(world, name, points))
  const columns = ['', 'samples', 'mean', 'in 100 jobs', '±', 'of the mean', '']
  for (const cells of [columns, columns.map(() => '---'), ...rows]) console.log(`| ${cells.join(' | ')} |`)
  const rate = ((minutes * 60) / world.jobs.length).toFixed(1)
  console.log(`\n${world.jobs.length} jobs in ${minutes} min, one in ${rate} s; ${world.injections.length} faults`)
}

function rowOf(world: World, name: string, points: readonly Point[]): string[] {
  const bound = boundOf(name)
  if (bound !== undefined) return rowOfBounded(world, name, points, bound)
  const found = slopeOf(points)
  if (!found) return [name, String(points.length), '', '', '', '', 'too few']
  const { slope, error, mean, count } = found
  const [perHundred, errorOfIt] = [slope * 100, error * 100]
  const share = mean === 0 ? 0 : perHundred / mean
  const numbers = [String(count), number(mean), number(perHundred), number(errorOfIt)]
  if (isKept(name)) return [name, ...numbers, '', `${number(slope)} a job${halves(points)}`]
  const grows = share > slopeAllowed && perHundred > errorOfIt
  if (grows) violate(world, `soak: ${name} grows by ${(share * 100).toFixed(1)} % in 100 jobs`)
  return [name, ...numbers, `${(share * 100).toFixed(2)} %`, grows ? '**grows**' : '']
}

/** A row for a figure that grows up to a bound and then starts again. */
function rowOfBounded(world: World, name: string, points: readonly Point[], bound: number): string[] {
  const values = points.map(({ y }) => y)
  const most = Math.max(...values)
  if (most > bound) violate(world, `soak: ${name} is ${most}, more than ${bound}`)
  return [
    name,
    String(values.length),
    number(meanOf(values)),
    '',
    '',
    '',
    `at most ${most}; begins anew before ${bound}`,
  ]
}

/** Compares what one job adds in the first half and in the second. */
function halves(points: readonly Point[]): string {
  const middle = points.length / 2
  const slopes = [points.slice(0, middle), points.slice(middle)].map((half) => slopeOf(half)?.slope)
  return slopes.includes(undefined) ? '' : `: ${slopes.map((slope) => number(slope ?? 0)).join(', then ')}`
}

const number = (value: number) =>
  Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(2)} M` : String(Number(value.toPrecision(3)))
