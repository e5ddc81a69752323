// The losses of runs whose trainers are killed at random instants are those of an uninterrupted run, bit for bit.
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../../inference/support/random.ts'
import { endAndCheck } from './ending.ts'
import { look, submit, type Job } from './jobs.ts'
import { follow } from './workload.ts'
import { isAlive, trainersOf } from './programs.ts'
import { lastStep } from './observations.ts'
import { noteTrainerFault } from './injections.ts'
import { violate, type World } from './world.ts'

const killsOfOneJob = 5

export async function runTraces(world: World, kills: number, seed: number) {
  const random = createRandom(seed)
  const reference = [...world.losses]
  const at: number[] = []
  while (at.length < kills) {
    const job = await submit(world)
    follow(world, job, { cancelAfterMs: null, resumes: 0 })
    const wanted = Math.min(killsOfOneJob, kills - at.length)
    // The step is anywhere between the first report and the last.
    const steps = random.list(wanted, () => 10 + 10 * random.below(world.maxSteps / 10 - 2)).toSorted((a, b) => a - b)
    for (const step of steps) at.push(...(await killAt(world, job, step, random)))
    while (!job.isDone) await sleep(100)
  }
  await endAndCheck(world)
  const traces = world.jobs
    .slice(1)
    .map(({ seen }) => JSON.stringify(seen?.steps.map(({ step, loss }) => [step, loss])))
  const equal = traces.filter((trace) => trace === JSON.stringify(reference)).length
  if (equal < traces.length) violate(world, `7: ${traces.length - equal} of ${traces.length} traces differ`)
  console.log(`${at.length} kills, after the steps ${at.join(', ')}, of ${traces.length} jobs`)
  console.log(`traces equal to that of the uninterrupted run, bit for bit: ${equal} of ${traces.length}`)
}

/** Kills the trainer a moment after it reports the step. @returns the step of the kill; nothing when the job was too far */
async function killAt(world: World, job: Job, step: number, random: Random): Promise<number[]> {
  for (; !job.isDone; await sleep(20)) {
    const seen = await look(world, job)
    if (seen?.status !== 'TRAINING MODEL' || lastStep(seen) < step) continue
    await sleep(random.below(1000))
    const trainer = trainersOf(world.programs, job.id).find((program) => program.pid === program.group)
    if (!trainer || !isAlive(trainer)) continue
    process.kill(trainer.pid, 'SIGKILL')
    noteTrainerFault(world, job, 'kill trainer')
    const count = job.seen?.resumeCount ?? 0
    while (!job.isDone && (job.seen?.resumeCount ?? 0) === count) await sleep(20)
    return [lastStep(seen)]
  }
  return []
}
