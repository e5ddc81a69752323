// One run of one job: check the data, run attempts until one yields the model or the policy says stop, publish, close.
// Postgres decides (compare-and-set in the activities); this orders the steps and never loses a cancel.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  log,
  setHandler,
  sleep,
} from '@temporalio/workflow'
import { decideNext, type AttemptOutcome, type Decision } from '../src/domain/attempt-outcome.ts'
import { attemptPhases, type AttemptPhase, type TrainingJobStatus } from '../src/domain/training-job-status.ts'
import type { JobEnding } from '../src/domain/training-job.ts'
import {
  cancelSignal,
  phaseSignal,
  resumeSignal,
  slotSignal,
  type FineTuneInput,
  type FineTuneResult,
} from './contract.ts'
import { activities } from './fine-tune-activities.ts'
import { createJobView, type JobView } from './job-view.ts'
import { wasCancelled } from './was-cancelled.ts'

/** The native cancel follows the signal within moments; only it makes the run close as Canceled. */
const nativeCancelWaitMs = 60_000

/** `attempt` is the newest one, 0 before the first; `status` is what the newest walk reached; `isTold`: it may have its slot now. */
type Run = {
  jobId: number
  generation: number
  attempt: number
  isTold: boolean
  status: TrainingJobStatus | null
  phases: { attempt: number; phase: AttemptPhase }[]
  view: JobView
}

type Why = { reason: string; message: string }
type Launch = Extract<Decision, { next: 'relaunch' }>

/** Postgres refused a move: a cancel stands there whose signal has not arrived yet, or the job has ended already. */
class MoveRefused extends Error {}

export async function fineTune({ jobId, generation }: FineTuneInput): Promise<FineTuneResult> {
  const root = CancellationScope.current()
  const work = new CancellationScope()
  const run: Run = { jobId, generation, attempt: 0, isTold: false, status: null, phases: [], view: createJobView() }

  setHandler(cancelSignal, (signal) => {
    if (signal.generation === generation) work.cancel()
  })
  setHandler(resumeSignal, (signal) => log.info('resumed', { generation: signal.generation }))
  setHandler(phaseSignal, ({ attempt, phase }) => {
    run.phases.push({ attempt, phase: phase as AttemptPhase })
  })
  setHandler(slotSignal, () => {
    run.isTold = true
  })

  let ending: JobEnding
  try {
    ending = await work.run(() => train(run))
  } catch (error) {
    const isCancel = error instanceof MoveRefused || wasCancelled(work, error)
    ending = await CancellationScope.nonCancellable(() => (isCancel ? cancel(run) : giveUp(run, error)))
  }
  run.view.show({ status: ending.status, attempt: run.attempt, reason: ending.reason, message: ending.message })
  return close(run, ending, root)
}

/** Closes as the job ended, so that the Temporal UI reads right. */
async function close(
  { jobId, attempt }: Run,
  { status, reason, message, modelName }: JobEnding,
  root: CancellationScope,
) {
  if (status === 'FAILED') throw ApplicationFailure.nonRetryable(message ?? 'failed', reason ?? 'failed')
  if (status !== 'CANCELLED') return { jobId, status, modelName, attempts: attempt }
  await CancellationScope.nonCancellable(() =>
    Promise.race([root.cancelRequested.catch(() => undefined), sleep(nativeCancelWaitMs)]),
  )
  throw new CancelledFailure(`job ${jobId} was cancelled`)
}

async function train(run: Run): Promise<JobEnding> {
  const unusable = await prepare(run)
  if (unusable !== null) return finish(run, unusable)
  const outcomes: AttemptOutcome[] = []
  let launch: Launch = { next: 'relaunch', mode: 'train', counts: false, backOffMs: 0 }
  for (;;) {
    const { outcome, resumesLeft } = await runAttempt(run, outcomes, launch)
    outcomes.push(outcome)
    let decision = decideNext(outcomes, { resumesLeft })
    while (decision.next === 'complete' || decision.next === 'complete_partially') {
      if (decision.next === 'complete') await walkTo(run, 'EVALUATING MODEL')
      const published = await activities.publishModel({ jobId: run.jobId, generation: run.generation })
      if (published.modelName !== null)
        return finish(run, endingOf(decision, published.modelName), published.artifactId)
      // The stored bytes do not match their manifest, so there is no such artifact any more.
      const { message, hasCheckpoint } = published
      const why = outcome.modelSaved ? ({ cause: 'code_error', message } as const) : {}
      outcomes.splice(-1, 1, { ...outcome, ...why, modelSaved: false, hasCheckpoint })
      decision = decideNext(outcomes, { resumesLeft })
    }
    if (decision.next === 'fail') return finish(run, endingOf(decision, null))
    launch = decision
  }
}

/** @returns null when the data is ready, else how the job ends */
async function prepare({ jobId, generation, view }: Run): Promise<JobEnding | null> {
  view.show({
    status: generation === 1 ? 'CREATED' : 'QUEUED',
    attempt: 0,
    reason: null,
    message: 'Checking the data set.',
  })
  try {
    await activities.prepareDataset({ jobId, generation })
    return null
  } catch (error) {
    const ending = dataError(error)
    if (ending === null) throw error
    return ending
  }
}

/** Null for other errors. */
function dataError(error: unknown): JobEnding | null {
  const cause = causeOf(error)
  if (cause?.type !== 'DatasetInvalid') return null
  return { status: 'FAILED', reason: 'data_error', message: cause.message, modelName: null }
}

/** What an activity said of its failure. */
function causeOf(error: unknown): ApplicationFailure | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined
  return cause instanceof ApplicationFailure ? cause : undefined
}

async function runAttempt(run: Run, outcomes: readonly AttemptOutcome[], { mode, counts, backOffMs }: Launch) {
  const { jobId, generation } = run
  const previous = outcomes.at(-1)
  const why = previous ? { reason: previous.cause, message: previous.message } : null
  if (mode === 'evaluate') await walkTo(run, 'EVALUATING MODEL')
  if (backOffMs > 0) await backOff(run, mode === 'train' ? why : null, backOffMs)
  const opened = await activities.openAttempt({ jobId, generation, ordinal: outcomes.length, mode, counts, why })
  if (opened.attempt === null) throw new MoveRefused('no attempt may be opened')
  run.attempt = opened.attempt
  if (mode === 'train') run.status = 'QUEUED'
  run.view.show({
    status: mode === 'train' ? 'QUEUED' : 'EVALUATING MODEL',
    attempt: run.attempt,
    reason: why?.reason ?? null,
    message: why?.message ?? 'Waiting for a place to run.',
  })
  const position = { jobId, attempt: opened.attempt }
  await launch(run, position)
  await follow(run, activities.watchAttempt(position))
  return activities.releaseAttempt(position)
}

async function launch(run: Run, position: { jobId: number; attempt: number }) {
  while ((await activities.launchAttempt({ ...position, hearsOfSlots: true })) === 'waiting') {
    await condition(() => run.isTold)
    run.isTold = false
  }
}

async function backOff(run: Run, why: Why | null, backOffMs: number) {
  const { jobId, generation, attempt, view } = run
  if (why) {
    await activities.requeue({ jobId, generation, attempt, why, backOffMs })
    view.show({ status: 'QUEUED', attempt, ...why })
  }
  await sleep(backOffMs)
}

/** Applies the phases that the attempt reports until it has ended. */
async function follow(run: Run, watching: Promise<unknown>) {
  let ended = false
  const end = watching.finally(() => {
    ended = true
  })
  // Awaited below; until then a failure must not count as unhandled.
  end.catch(() => undefined)
  while (!ended) {
    await condition(() => ended || run.phases.length > 0)
    const reached = run.phases.splice(0).filter(({ attempt }) => attempt === run.attempt)
    const furthest = attemptPhases.findLast((phase) => reached.some((report) => report.phase === phase))
    if (furthest) await walkTo(run, furthest)
  }
  await end
}

async function walkTo(run: Run, phase: AttemptPhase) {
  const { jobId, generation, attempt } = run
  if (run.status === phase) return
  run.status = await activities.recordPhase({ jobId, generation, attempt, phase })
  run.view.show({ status: run.status, attempt, reason: null, message: null })
}

/** @param artifactId of the model that the ending names */
async function finish(
  { jobId, generation }: Run,
  ending: JobEnding,
  artifactId: string | null = null,
): Promise<JobEnding> {
  const moved = await activities.finishJob({ jobId, generation, ...ending, artifactId })
  if (moved === 'cancelling' || moved === 'refused') throw new MoveRefused(moved)
  return ending
}

async function cancel(run: Run): Promise<JobEnding> {
  const { jobId, generation, attempt, view } = run
  const { ended } = await activities.acceptCancel({ jobId, generation })
  if (ended !== null) return ended
  view.show({ status: 'CANCELLED', attempt, reason: 'cancelling', message: 'Releasing what runs.' })
  await activities.releaseJob({ jobId, generation })
  const ending = {
    status: 'CANCELLED',
    reason: 'cancelled',
    message: 'Cancelled; everything it used is released.',
    modelName: null,
  } as const
  await activities.finishJob({ jobId, generation, ...ending, artifactId: null })
  return ending
}

const unforeseen = {
  reason: 'internal_error',
  message:
    'An unforeseen error ended the job; its workflow in Temporal has the details. Resume it once that is mended.',
}
const forgotten = {
  reason: 'restored',
  message: 'The database was restored to before what its workflow did; everything is released. Resume it to go on.',
}

/** An error that no policy foresees: nothing may stay behind, and the job says so. */
async function giveUp(run: Run, error: unknown): Promise<JobEnding> {
  const { jobId, generation } = run
  log.error('the job ends on an unforeseen error', { error })
  await activities.releaseJob({ jobId, generation })
  const ending = dataError(error) ?? {
    status: 'FAILED',
    ...(causeOf(error)?.type === 'Unknown' ? forgotten : unforeseen),
    modelName: null,
  }
  const moved = await activities.finishJob({ jobId, generation, ...ending, artifactId: null })
  return moved === 'cancelling' || moved === 'refused' ? cancel(run) : ending
}

function endingOf(decision: Exclude<Decision, Launch>, modelName: string | null): JobEnding {
  if (decision.next === 'complete') return { status: 'COMPLETED', reason: null, message: null, modelName }
  const { reason, message } = decision
  return { status: decision.next === 'fail' ? 'FAILED' : 'PARTIALLY COMPLETED', reason, message, modelName }
}
