// The load during the whole run: users with jobs, a user who asks the base model, and observers of every job and process.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../inference/support/random.ts'
import { cancel, look, resume, submit, type Job } from './jobs.ts'
import { isAlive, livingPrograms, trainersOf } from './programs.ts'
import { isEnd, type Observation } from './observations.ts'
import { openJobs, violate, type World } from './world.ts'

/** One more than there are slots. */
export const sideBySide = 3

const lookEveryMs = 100
const endTimeoutMs = 600_000

type Wishes = {
  /** Null if the job is never cancelled. */
  cancelAfterMs: number | null
  /** How often the job is resumed when it does not end as COMPLETED. */
  resumes: number
}

/** Keeps this many jobs open until the run closes. */
export async function populate(world: World, random: Random) {
  for (let submitted = 0; !world.isClosing; await sleep(lookEveryMs)) {
    if (openJobs(world).length >= sideBySide) continue
    // Now and then the trainers of a job ignore SIGTERM. Some jobs are cancelled at a random time.
    const job = await submit(world, { isDeaf: submitted++ % 6 === 3 })
    const cancelAfterMs = random.below(5) === 0 ? random.below(40_000) : null
    follow(world, job, { cancelAfterMs, resumes: 6 })
  }
}

/** Follows the job until it has ended for good; nobody waits for it. */
export function follow(world: World, job: Job, wishes: Wishes): void {
  followToEnd(world, job, wishes)
    .catch((error: unknown) => violate(world, `job ${job.id}: ${(error as Error).stack}`))
    .finally(() => (job.isDone = true))
}

async function followToEnd(world: World, job: Job, { cancelAfterMs, resumes }: Wishes) {
  const wantsCancel = new AbortController()
  if (cancelAfterMs !== null) void cancelLater(world, job, cancelAfterMs, wantsCancel.signal)
  for (;;) {
    const { status } = await untilEnded(world, job)
    if (status === 'COMPLETED' || world.isClosing || job.resumes >= resumes) break
    wantsCancel.abort()
    if (job.isDeaf) rmSync(join(world.stack.home.dir, `deaf-${job.id}`), { force: true })
    job.isDeaf = false
    await resume(world, job)
  }
  wantsCancel.abort()
}

async function cancelLater(world: World, job: Job, afterMs: number, signal: AbortSignal) {
  await sleep(afterMs, undefined, { signal }).catch(() => undefined)
  if (!signal.aborted)
    await cancel(world, job).catch((error: unknown) => violate(world, `job ${job.id}: ${(error as Error).stack}`))
}

/** Checks that every accepted job ends. The time in which it waits for others does not count. */
export async function untilEnded(world: World, job: Job): Promise<Observation> {
  for (let waitedUntilMs = Date.now(); ; await sleep(lookEveryMs)) {
    const seen = await look(world, job)
    if (seen && isEnd(seen.status) && !job.asked.resumeSent) return seen
    if (seen?.reason === 'waiting_for_slot') waitedUntilMs = Date.now()
    if (Date.now() - Math.max(waitedUntilMs, job.changedAtMs) > endTimeoutMs)
      throw new Error(`1: it has not changed for ${endTimeoutMs / 60_000} min: ${job.seen?.text}`)
  }
}

/** Asks the base model all the time, and keeps it awake. */
export async function askModel(world: World) {
  const body = { model_name: 'anneal-tiny', prompt: 'a', max_tokens: 1 }
  while (!world.isClosing) {
    const askedAtMs = Date.now()
    const answer = await world.client.ask('POST', '/v1/completions', { body, timeoutMs: 100_000 })
    if (answer && answer.status !== 200 && answer.status !== 503)
      violate(world, `5: the base model is answered by ${answer.status}: ${JSON.stringify(answer.body)}`)
    world.modelAnswers = answer?.status === 200
    if (world.modelAnswers) noteModelRecovery(world, askedAtMs)
    await sleep(500)
  }
}

function noteModelRecovery(world: World, askedAtMs: number) {
  for (const { hits } of world.jobs)
    for (const each of hits)
      if (each.injection.recovery === 'model' && each.recoveryMs === null && each.injection.atMs < askedAtMs)
        each.recoveryMs = Date.now() - each.injection.overMs
}

/** Guarantee 3, as far as processes show it: a trainer of an older attempt is gone before a newer one begins. */
export async function watchProcesses(world: World, signal: AbortSignal) {
  while (!signal.aborted) {
    world.programs = livingPrograms(world.stack.home.dir)
    for (const { id } of openJobs(world)) checkTrainers(world, id)
    await sleep(lookEveryMs)
  }
}

/** Leaves out a late launch, which is younger: its claim is refused, and the reaper ends it. */
function checkTrainers(world: World, jobId: number) {
  const trainers = trainersOf(world.programs, jobId).filter(({ pid, group }) => pid === group)
  const [older, newer] = trainers.toSorted((a, b) => attemptOf(a.run) - attemptOf(b.run) || a.pid - b.pid)
  if (!older || !newer || !isAlive(older) || !isAlive(newer)) return
  if (older.run === newer.run) violate(world, `3: ${older.run} runs twice`)
  else if (older.startedTicks < newer.startedTicks)
    violate(world, `3: ${older.run} lives while ${newer.run} runs already`)
}

const attemptOf = (run: string) => Number(/-a(\d+)$/.exec(run)?.[1])

/** Leaves the first job of a run undisturbed: the losses of all others are compared with its losses. */
export async function prepare(world: World) {
  const job = await submit(world)
  const { status, text } = await untilEnded(world, job)
  job.isDone = true
  if (status !== 'COMPLETED') throw new Error(`the undisturbed job ended so: ${text}`)
}
