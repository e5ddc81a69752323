// Cancels at random instants: what each leaves behind, and how long it takes until nothing is left. The baseline is a
// SIGTERM that this program sends to such a trainer itself.
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../../inference/support/random.ts'
import { endAndCheck } from './ending.ts'
import { cancel, look, resume, submit, type Job } from './jobs.ts'
import { untilEnded } from './workload.ts'
import { isAlive, livingPrograms, trainersOf } from './programs.ts'
import { isEnd } from './observations.ts'
import { noteTrainerFault } from './injections.ts'
import { quantile } from './table.ts'
import { violate, type World } from './world.ts'

/** How many cancels come after a SIGTERM that this program sends itself. */
const baselineShare = 0.5
/** About as long as an attempt takes. After this time the job is cancelled in whatever state it is. */
const longestMs = 20_000
const resumesOfOneJob = 8

type Times = { goneMs: number[]; cancelledMs: number[]; baselineMs: number[]; left: number }

/** Runs two jobs at a time, because there are two slots. */
export async function runCancels(world: World, count: number, seed: number) {
  const times: Times = { goneMs: [], cancelledMs: [], baselineMs: [], left: 0 }
  const users = [0, 1].map(async (user) => {
    const random = createRandom(seed + user)
    let job: Job | null = null
    while (times.cancelledMs.length < count) job = await cancelOnce(world, job, random, times)
  })
  await Promise.all(users)
  for (const job of world.jobs) job.isDone = true
  await endAndCheck(world)
  if (times.left > 0) violate(world, `6: ${times.left} processes lived when their job was CANCELLED`)
  print(times)
}

/** @returns the job, which the next round resumes; null when the job did not end as CANCELLED */
async function cancelOnce(world: World, before: Job | null, random: Random, times: Times): Promise<Job | null> {
  const job = before ?? (await submit(world))
  if (before) await resume(world, job)
  if (random.fraction() < baselineShare) await terminateWithoutProduct(world, job, random, times)
  await reach(world, job, random)
  const trainers = trainersOf(livingPrograms(world.stack.home.dir), job.id)
  const sentAtMs = performance.now()
  const [isAccepted, goneMs] = await Promise.all([cancel(world, job), goneAfter(trainers, sentAtMs)])
  const { status } = await untilEnded(world, job)
  if (isAccepted) {
    times.cancelledMs.push(performance.now() - sentAtMs)
    if (times.cancelledMs.length % 10 === 0) world.say(`${times.cancelledMs.length} jobs have been cancelled`)
    if (trainers.length > 0) times.goneMs.push(goneMs)
    times.left += trainersOf(livingPrograms(world.stack.home.dir), job.id).length
  }
  return status === 'CANCELLED' && job.resumes < resumesOfOneJob ? job : null
}

/** The workflow treats this SIGTERM as an interruption and launches another attempt. */
async function terminateWithoutProduct(world: World, job: Job, random: Random, { baselineMs }: Times) {
  await reach(world, job, random)
  const trainers = trainersOf(livingPrograms(world.stack.home.dir), job.id)
  const [leader] = trainers.filter(({ pid, group }) => pid === group)
  if (!leader) return
  const sentAtMs = performance.now()
  process.kill(leader.pid, 'SIGTERM')
  noteTrainerFault(world, job, 'SIGTERM to the trainer')
  baselineMs.push(await goneAfter(trainers, sentAtMs))
}

/** A random instant in the life of a job, counted from its start or resume. */
async function reach(world: World, job: Job, random: Random) {
  const untilMs = Date.now() + random.below(longestMs)
  while (Date.now() < untilMs) {
    const seen = await look(world, job)
    if (seen && isEnd(seen.status)) return
    await sleep(50)
  }
}

async function goneAfter(trainers: ReturnType<typeof livingPrograms>, sinceMs: number): Promise<number> {
  while (trainers.some(isAlive)) await sleep(2)
  return performance.now() - sinceMs
}

function print({ goneMs, cancelledMs, baselineMs, left }: Times) {
  const of = (values: number[], share: number) =>
    quantile(
      values.toSorted((a, b) => a - b),
      share,
    ) ?? NaN
  const line = (name: string, values: number[]) =>
    `${name}: ${values.length}, p50 ${of(values, 0.5).toFixed(0)} ms, p99 ${of(values, 0.99).toFixed(0)} ms`
  const ratio = (share: number) => (of(goneMs, share) / of(baselineMs, share)).toFixed(2)
  console.log(line('cancel → CANCELLED', cancelledMs))
  console.log(line('cancel → its processes gone', goneMs))
  console.log(line('bare SIGTERM → gone', baselineMs))
  console.log(`cancel / bare SIGTERM: p50 ${ratio(0.5)}, p99 ${ratio(0.99)}; processes left: ${left}`)
}
