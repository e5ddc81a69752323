// Jobs as a user has them: submitted, looked at, cancelled, resumed, each request again until it is answered.
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleRows } from '../../support/rows.ts'
import { livingPrograms, startedMs, trainersOf } from './programs.ts'
import {
  isEnd,
  progressOf,
  observationOf,
  wrongIn,
  type Asked,
  type JobAnswer,
  type Observation,
} from './observations.ts'
import { violate, type Hit, type Injection, type World } from './world.ts'

export type Job = {
  id: number
  /** The newest answer about the job; null before the first. */
  seen: Observation | null
  changedAtMs: number
  asked: Asked
  /** The cancel was acknowledged. */
  resumes: number
  hits: Hit[]
  isDeaf: boolean
  /** The job has ended and is not resumed again. */
  isDone: boolean
  /** Rises with each resume, so that answers to earlier requests are ignored. */
  epoch: number
  looking: Promise<Observation | null> | null
}

const answerTimeoutMs = 240_000
const modelTimeoutMs = 300_000

export async function submit(world: World, { isDeaf = false } = {}): Promise<Job> {
  const body = {
    model_name: 'anneal-tiny',
    data: sampleRows,
    // Their answers take some seconds, so that a fault can be injected meanwhile.
    eval_data: [sampleRows, sampleRows, sampleRows, sampleRows].flat(),
    finetune_args: { max_steps: world.maxSteps, save_steps: 10, seed: 7 },
  }
  const { job_id } = await insist<{ job_id: string }>(world, '/v1/train', { body, idempotencyKey: randomUUID() })
  const id = Number(job_id)
  if (world.jobs.some((job) => job.id === id)) violate(world, `1: two requests were answered with job ${id}`)
  if (isDeaf) writeFileSync(join(world.stack.home.dir, `deaf-${id}`), '')
  const asked = { cancelAcknowledged: false, resumeSent: false }
  const job: Job = {
    ...{ id, seen: null, changedAtMs: Date.now(), asked, resumes: 0, hits: [] },
    ...{ isDeaf, isDone: false, epoch: 0, looking: null },
  }
  world.jobs.push(job)
  return job
}

/** @returns whether it was acknowledged; a job that has ended meanwhile refuses */
export async function cancel(world: World, job: Job): Promise<boolean> {
  // A resume replaces `job.asked`: the acknowledgement belongs to the commands that were sent before it.
  const { asked } = job
  const answer = await insist<unknown>(world, `/v1/train/jobs/${job.id}/cancel`, {}, [400])
  if (answer !== null) asked.cancelAcknowledged = true
  return answer !== null
}

export async function resume(world: World, job: Job): Promise<void> {
  job.asked = { cancelAcknowledged: false, resumeSent: true }
  job.epoch++
  await insist(world, `/v1/train/jobs/${job.id}/resume`, { idempotencyKey: randomUUID() })
  job.resumes++
  job.epoch++
}

/** Again until the answer is 200, or one of `refusals` (then null). */
async function insist<T>(
  { client }: World,
  path: string,
  request: { body?: unknown; idempotencyKey?: string },
  refusals: number[] = [],
): Promise<T> {
  for (const deadline = Date.now() + answerTimeoutMs; Date.now() < deadline; await sleep(200)) {
    const answer = await client.ask<T>('POST', path, request)
    if (answer?.status === 200) return answer.body
    if (answer && refusals.includes(answer.status)) return null as T
    if (answer && answer.status < 500) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  throw new Error(`POST ${path} found no answer in ${answerTimeoutMs / 1000} s`)
}

/** Asks about each job one request at a time, so that the answers are in order. @returns null when there was no answer */
export const look = (world: World, job: Job): Promise<Observation | null> =>
  (job.looking ??= lookNow(world, job).finally(() => (job.looking = null)))

async function lookNow(world: World, job: Job): Promise<Observation | null> {
  const { epoch } = job
  const answer = await world.client.ask<JobAnswer>('GET', `/v1/train/jobs/${job.id}`, { timeoutMs: 5000 })
  if (!answer || answer.status === 503 || epoch !== job.epoch) return null
  if (answer.status !== 200) {
    violate(world, `1: job ${job.id} was accepted, and is answered by ${answer.status}`)
    return null
  }
  const now = observationOf(answer.body, Date.now())
  for (const wrong of wrongIn(job.seen, now, job.asked, world.losses)) violate(world, `job ${job.id}: ${wrong}`)
  if (now.status === 'CANCELLED' && job.seen?.status !== 'CANCELLED') checkGone(world, job)
  if (now.modelName !== null && now.modelName !== job.seen?.modelName) void checkModel(world, job, now.modelName)
  if (!isEnd(now.status) || now.resumeCount !== job.seen?.resumeCount) job.asked.resumeSent = false
  noteRecovery(job, now)
  if (now.text !== job.seen?.text) job.changedAtMs = now.atMs
  return (job.seen = now)
}

/** Leaves out a late launch, which is younger than the last look at the open job: its claim is refused, and the reaper ends it. */
function checkGone(world: World, { id, seen }: Job) {
  for (const program of trainersOf(livingPrograms(world.stack.home.dir), id))
    if (startedMs(program) < (seen?.atMs ?? 0)) violate(world, `6: job ${id} is CANCELLED while ${program.run} lives`)
}

async function checkModel(world: World, { id }: Job, modelName: string) {
  const body = { model_name: modelName, prompt: 'Question: ', max_tokens: 1 }
  for (const deadline = Date.now() + modelTimeoutMs; Date.now() < deadline; await sleep(500)) {
    const answer = await world.client.ask('POST', '/v1/completions', { body, timeoutMs: 100_000 })
    if (answer?.status === 200) return
    if (answer && answer.status !== 503)
      return violate(world, `5: the model of job ${id} is answered by ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
  violate(world, `5: the model of job ${id} did not answer in ${modelTimeoutMs / 1000} s`)
}

/** Records that the injection hits this job now. */
export function hit(job: Job, injection: Injection) {
  if (injection.isOfOneJob)
    for (const before of job.hits) before.isMeasured = before.isMeasured && before.recoveryMs !== null
  const progress = job.seen ? progressOf(job.seen) : 0
  // An earlier fault hit its trainer in this state, and the job has not recovered yet.
  const isHeld = job.hits.some(
    (before) =>
      before.injection.isOfOneJob && before.recoveryMs === null && Math.floor(before.progress) === Math.floor(progress),
  )
  const isMeasured = !isHeld && job.seen?.reason !== 'waiting_for_slot'
  job.hits.push({ injection, progress, recoveryMs: null, isMeasured })
}

function noteRecovery({ hits }: Job, now: Observation) {
  for (const each of hits)
    if (each.recoveryMs === null && each.injection.recovery === 'job' && progressOf(now) > each.progress)
      each.recoveryMs = Math.max(0, now.atMs - each.injection.overMs)
}
