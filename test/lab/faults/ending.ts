// The end of a run: every job ends, and the suite checks what the jobs have left behind.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cancel, look, type Job } from './jobs.ts'
import { livingPrograms } from './programs.ts'
import { timeOf, wrongCauses, wrongRecords, type Attempt, type JobEvent, type Records } from './records.ts'
import { openJobs, violate, type World } from './world.ts'

const patienceMs = 90_000

/** @returns what the jobs have left behind, by id */
export async function endAndCheck(world: World): Promise<Map<number, Records>> {
  world.isClosing = true
  for (const job of openJobs(world)) if (job.seen?.reason === 'waiting_for_slot') await cancel(world, job)
  while (openJobs(world).length > 0) await sleep(200)
  const records = new Map<number, Records>()
  for (const job of world.jobs) records.set(job.id, await checkJob(world, job))
  await checkList(world)
  await checkNothingRuns(world)
  return records
}

async function checkJob(world: World, job: Job): Promise<Records> {
  // These bytes are compared with those at the end of the job.
  await insist(() => look(world, job))
  const path = `/v1/train/jobs/${job.id}`
  const { events } = await get<{ events: JobEvent[] }>(world, `${path}/events?limit=1000`)
  const { attempts } = await get<{ attempts: Attempt[] }>(world, `${path}/attempts?limit=1000`)
  const records = { events, attempts: attempts.toSorted((a, b) => a.attempt - b.attempt) }
  if (job.seen)
    for (const wrong of [
      ...wrongRecords(job.seen, records, job.resumes),
      ...wrongCauses(
        records,
        job.hits.map(({ injection }) => injection),
      ),
    ])
      violate(world, `job ${job.id}: ${wrong}`)
  if (job.seen?.status === 'COMPLETED' && job.seen.steps.at(-1)?.step !== world.maxSteps)
    violate(world, `job ${job.id}: 7: it is COMPLETED, and its history ends at ${job.seen.steps.at(-1)?.step}`)
  return records
}

/** 1. Every job was submitted, and no submitted job is missing. */
async function checkList(world: World) {
  const listed = (await get<{ job_id: number }[]>(world, '/v1/train/jobs')).map(({ job_id }) => job_id)
  const known = new Set(world.jobs.map(({ id }) => id))
  for (const id of listed) if (!known.delete(id)) violate(world, `1: job ${id} exists, and nobody asked for it`)
  for (const id of known) violate(world, `1: job ${id} was accepted, and is not listed`)
}

/** 6. No trainer runs, and no folder of a trainer is left. */
async function checkNothingRuns(world: World) {
  const { stack } = world
  const left = () => [
    ...livingPrograms(stack.home.dir).flatMap(({ kind, pid, run }) => (kind === 'trainer' ? [`${run} (${pid})`] : [])),
    ...readdirSync(stack.home.runs)
      .filter((run) => run.startsWith('ft-') && filesIn(join(stack.home.runs, run, 'work')).length > 0)
      .map((run) => `a file of ${run}`),
  ]
  for (const deadline = Date.now() + patienceMs; left().length > 0 && Date.now() < deadline;) await sleep(200)
  for (const what of left()) violate(world, `6: ${what} is left`)
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function get<T>({ client }: World, path: string): Promise<T> {
  return insist(async () => {
    const answer = await client.ask<T>('GET', path)
    return answer?.status === 200 ? answer.body : null
  })
}

async function insist<T>(ask: () => Promise<T | null>): Promise<T> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(200)) {
    const answer = await ask()
    if (answer !== null) return answer
  }
  throw new Error(`there was no answer in ${patienceMs / 1000} s`)
}

/** Attempts that began after that moment, until the job's next end. */
export const triesBetween = ({ attempts }: Records, fromMs: number, untilMs: number) =>
  attempts.filter(({ created_at }) => timeOf(created_at) > fromMs && timeOf(created_at) <= untilMs).length
