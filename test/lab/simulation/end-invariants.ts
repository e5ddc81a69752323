// Checks the guarantees once everything rests. The numbers are those of docs/reliability.md.
import { policyOf } from '../../../src/domain/attempt-cause.ts'
import { fineTuneWorkflowId } from '../../../src/domain/identifiers.ts'
import { mayMove, type TrainingJobStatus } from '../../../src/domain/training-job-status.ts'
import type { TrainingJob } from '../../../src/domain/training-job.ts'
import { totalSteps } from './trainer.ts'
import type { World } from './world.ts'

type Look = { world: World; violate: (what: string) => void }

export function checkEnd(world: World, acceptedCount: number, violate: (what: string) => void) {
  const jobs = world.tables.all('trainingJob')
  if (jobs.length !== acceptedCount) violate(`1: ${acceptedCount} keys made ${jobs.length} jobs`)
  for (const job of jobs) for (const check of checks) check(job, { world, violate })
}

const checks = [checkHistory, checkEvents, checkResumeCount, checkSaved, checkWorkflow, checkReason]

/** 7. The history has no gap (the key forbids duplicates) and is complete when the job is. */
function checkHistory({ id, status }: TrainingJob, { world, violate }: Look) {
  const steps = world.tables.all('trainingStep', ({ jobId }) => jobId === id)
  const numbers = steps.map(({ step }) => step).toSorted((a, b) => a - b)
  const isGapless = numbers.every((step, index) => step === index + 1)
  if (!isGapless || (status === 'COMPLETED' && numbers.length !== totalSteps))
    violate(`7: the history of job ${id} (${status}) is ${numbers.join()}`)
}

/** 2. The events that users read follow the table of moves. */
function checkEvents({ id, status }: TrainingJob, { world, violate }: Look) {
  const events = world.tables.all('jobEvent', ({ jobId }) => jobId === id)
  let at: TrainingJobStatus | null = null
  for (const event of events.toSorted((a, b) => Number(a.id) - Number(b.id))) {
    if (event.kind !== 'status' || event.status === null) continue
    if (at !== null && !mayMove(at, event.status))
      violate(`2: the events of job ${id} go from ${at} to ${event.status}`)
    at = event.status
  }
  if (at !== status) violate(`2: job ${id} is ${status}, and its last event says ${at}`)
}

/** 7. `resume_count` counts every accepted resume and every automatic relaunch. */
function checkResumeCount({ id, generation, resumeCount }: TrainingJob, { world, violate }: Look) {
  const attempts = world.tables.all('attempt', ({ jobId }) => jobId === id)
  const models = world.tables.all('artifact', ({ jobId, kind }) => jobId === id && kind === 'model')
  // If a model has wrong bytes, its attempt counts as a code error, which only the workflow knows.
  if (models.some(({ corruptAt }) => corruptAt !== null)) return
  const relaunches = attempts.filter(({ generation: ofRun, ordinal, mode }) => {
    const previous = attempts.find((each) => each.generation === ofRun && each.ordinal === ordinal - 1)
    if (!previous?.cause || mode === 'evaluate') return false
    const policy = policyOf(previous.cause)
    return policy.again && policy.counts
  })
  const expected = generation - 1 + relaunches.length
  if (resumeCount !== expected) violate(`7: job ${id} counts ${resumeCount} resumes, ${expected} happened`)
}

/** `saved_step` of an attempt is the step of its newest committed artifact. */
function checkSaved({ id }: TrainingJob, { world, violate }: Look) {
  for (const { number, savedStep } of world.tables.all('attempt', ({ jobId }) => jobId === id)) {
    const steps = world.tables
      .all('artifact', ({ jobId, attempt }) => jobId === id && attempt === number)
      .filter(({ committedAt }) => committedAt !== null)
      .map(({ step }) => step)
    const newest = steps.length === 0 ? null : Math.max(...steps)
    if (savedStep !== newest)
      violate(`attempt ${number} of job ${id} saved step ${newest}, its ledger says ${savedStep}`)
  }
}

/**
 * The run of the job's generation closed as the job did. A late start makes a run of an older generation, which ends at once.
 * A start that was delivered twice makes a second run of a job that was cancelled, which completes at once.
 */
function checkWorkflow({ id, status, generation }: TrainingJob, { world, violate }: Look) {
  const workflowId = fineTuneWorkflowId(id)
  if (world.invariants.tamperedWith.has(workflowId)) return
  const expected = { CANCELLED: 'CANCELED', FAILED: 'FAILED' }[status as string] ?? 'COMPLETED'
  const runs = world.server.runs.get(workflowId)?.filter(({ memo }) => memo['generation'] === generation) ?? []
  const closed = runs.map((run) => run.status)
  const newest = closed.at(-1)
  if (newest === expected || (newest === 'COMPLETED' && closed.includes('CANCELED') && status === 'CANCELLED')) return
  violate(`job ${id} is ${status}, and its runs in Temporal ${closed.join()}`)
}

/** 8. Every end has a reason that a policy names. */
function checkReason({ id, status, statusReason, modelName }: TrainingJob, { world, violate }: Look) {
  if (status === 'FAILED' && statusReason === null) violate(`8: job ${id} failed without a reason`)
  if (statusReason === 'internal_error') violate(`8: job ${id} ended on an error that no policy foresees`)
  if (statusReason === 'workflow_terminated' && !world.invariants.tamperedWith.has(fineTuneWorkflowId(id)))
    violate(`1: the workflow of job ${id} was lost, and nobody had ended it`)
  if ((status === 'COMPLETED' || status === 'PARTIALLY COMPLETED') && modelName === null)
    violate(`5: job ${id} is ${status} without a model`)
}
