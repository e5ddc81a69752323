// One generation of a job: checks the data, runs attempts until one yields the model or the policy says stop, publishes, closes.
// Postgres decides, by compare-and-set in the activities; the workflow orders the steps and never loses a cancel.
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  deprecatePatch,
  log,
  sleep,
  workflowInfo,
} from '@temporalio/workflow'
import { decideNext, decisiveOutcomes, type AttemptOutcome } from '../src/domain/attempt-outcome.ts'
import { attemptPhases, type AttemptPhase } from '../src/domain/training-job-status.ts'
import type { JobEnding } from '../src/domain/training-job.ts'
import { type ContinuedFineTune, type FineTuneInput, type FineTuneResult, type Relaunch } from './contract.ts'
import { activities } from './fine-tune-activities.ts'
import { answerOperators, handleSignals, type State } from './fine-tune-handlers.ts'
import { dataError, endingOf, endingOfError } from './job-ending.ts'
import { createJobView } from './job-view.ts'
import { wasCancelled } from './was-cancelled.ts'

/** The native cancel follows the signal within moments; only the native cancel closes the execution as Canceled. */
const nativeCancelWaitMs = 60_000

type Why = { reason: string; message: string }
/** Postgres refused a move: the job has ended, or a cancel was accepted whose signal has not arrived yet. */
class MoveRefused extends Error {}

export async function fineTune({ jobId, generation, continued }: FineTuneInput): Promise<FineTuneResult> {
  const root = CancellationScope.current()
  const work = new CancellationScope()
  const state: State = {
    jobId,
    generation,
    attempt: continued?.attempt ?? 0,
    slotSignalled: false,
    status: continued?.status ?? null,
    phases: [],
    view: createJobView({ status: continued?.status ?? 'CREATED', attempt: continued?.attempt ?? 0 }),
    next: continued ? 'Open the next attempt.' : 'Check the data set.',
    endedCount: continued?.endedCount ?? 0,
  }

  handleSignals(state, () => work.cancel())
  answerOperators(state)

  let ending: JobEnding | ContinuedFineTune
  try {
    ending = await work.run(() => train(state, continued))
  } catch (error) {
    const isCancel = error instanceof MoveRefused || wasCancelled(work, error)
    ending = await CancellationScope.nonCancellable(() => (isCancel ? cancel(state) : giveUp(state, error)))
  }
  // A run that ends takes the answers of its updates with it.
  if (!allHandlersFinished()) await CancellationScope.nonCancellable(() => condition(allHandlersFinished))
  // Temporal takes the end of a run only once the run has seen every signal, so no cancel is lost between two runs. Phases and
  // slots are those of attempts that have ended.
  if ('launch' in ending) return continueAsNew<typeof fineTune>({ jobId, generation, continued: ending })
  state.next = `Nothing: the job has ended as ${ending.status}.${ending.message === null ? '' : ` ${ending.message}`}`
  state.view.show({ status: ending.status, attempt: state.attempt, reason: ending.reason, message: ending.message })
  return close(state, ending, root)
}

/** Closes as the job ended, so that the Temporal UI shows the same end. */
async function close(
  { jobId, attempt }: State,
  { status, reason, message, modelName }: JobEnding,
  root: CancellationScope,
) {
  if (status === 'FAILED') throw ApplicationFailure.nonRetryable(message ?? 'failed', reason ?? 'failed')
  if (status !== 'CANCELLED') return { jobId, status, modelName, attempts: attempt }
  await CancellationScope.nonCancellable(() =>
    Promise.race([root.cancelRequested.catch(() => undefined), sleep(nativeCancelWaitMs)]),
  )
  if (root.consideredCancelled) throw new CancelledFailure(`job ${jobId} was cancelled`)
  // A start that was delivered twice made this run after an earlier one had closed as Canceled. Temporal closes a run as Canceled
  // only if a cancel was requested of it.
  return { jobId, status, modelName, attempts: attempt }
}

const firstLaunch: Relaunch = { next: 'relaunch', mode: 'train', counts: false, backOffMs: 0 }

/** @returns how the job ends, or what the next run goes on with */
async function train(state: State, continued?: ContinuedFineTune): Promise<JobEnding | ContinuedFineTune> {
  if (!continued) {
    const unusable = await prepare(state)
    if (unusable !== null) return finish(state, unusable)
  }
  const { outcomes = [], launch = firstLaunch } = continued ?? {}
  let { outcome, resumesLeft } = await runAttempt(state, outcomes.at(-1), launch)
  for (;;) {
    state.next = 'Decide how to go on.'
    const decision = decideNext([...outcomes, outcome], { resumesLeft })
    if (decision.next === 'fail') return finish(state, endingOf(decision, null))
    if (decision.next === 'complete' || decision.next === 'complete_partially') {
      const published = await publishOrReject(state, decision, outcome)
      if ('ending' in published) return finish(state, published.ending, published.artifactId)
      outcome = published
      continue
    }
    outcomes.push(outcome)
    if (isLong()) {
      // Histories of v0.1.0 have its mark.
      deprecatePatch('continue a long fine-tune')
      const { attempt, status, endedCount } = state
      return { attempt, status, endedCount, outcomes: decisiveOutcomes(outcomes), launch: decision }
    }
    ;({ outcome, resumesLeft } = await runAttempt(state, outcome, decision))
  }
}

type Publication = Extract<ReturnType<typeof decideNext>, { next: 'complete' | 'complete_partially' }>

/** @returns the ending with the published model, or the outcome as if the attempt had never saved what does not verify */
async function publishOrReject(
  state: State,
  decision: Publication,
  outcome: AttemptOutcome,
): Promise<{ ending: JobEnding; artifactId: string | null } | AttemptOutcome> {
  state.next = 'Verify and publish the model.'
  if (decision.next === 'complete') await walkTo(state, 'EVALUATING MODEL')
  const { jobId, generation } = state
  const published = await activities.publishModel({ jobId, generation })
  if (published.modelName !== null)
    return { ending: endingOf(decision, published.modelName), artifactId: published.artifactId }
  const { message, hasCheckpoint } = published
  const why = outcome.modelSaved ? ({ cause: 'code_error', message } as const) : {}
  return { ...outcome, ...why, modelSaved: false, hasCheckpoint }
}

/** Temporal suggests a new run long before it ends one for the length of its history. A cancelled run ends soon anyway. */
const isLong = () => workflowInfo().continueAsNewSuggested && !CancellationScope.current().consideredCancelled

/** @returns null when the data is ready, else how the job ends */
async function prepare({ jobId, generation, view }: State): Promise<JobEnding | null> {
  view.show({
    status: generation === 1 ? 'CREATED' : 'QUEUED',
    attempt: 0,
    reason: 'data_check',
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

async function runAttempt(state: State, previous: AttemptOutcome | undefined, { mode, counts, backOffMs }: Relaunch) {
  const { jobId, generation, endedCount: ordinal } = state
  const why = previous ? { reason: previous.cause, message: previous.message } : null
  if (mode === 'evaluate') await walkTo(state, 'EVALUATING MODEL')
  if (backOffMs > 0) await backOff(state, mode === 'train' ? why : null, backOffMs)
  const opened = await activities.openAttempt({ jobId, generation, ordinal, mode, counts, why })
  if (opened.attempt === null) throw new MoveRefused('no attempt may be opened')
  state.attempt = opened.attempt
  if (mode === 'train') state.status = 'QUEUED'
  state.view.show({
    status: mode === 'train' ? 'QUEUED' : 'EVALUATING MODEL',
    attempt: state.attempt,
    reason: why?.reason ?? null,
    message: why?.message ?? 'Waiting to start.',
  })
  const position = { jobId, attempt: opened.attempt }
  await launch(state, position)
  state.next = `Wait until attempt ${position.attempt} ends.`
  await follow(state, activities.watchAttempt(position))
  state.next = `Confirm that all resources of attempt ${position.attempt} are gone.`
  const ended = await activities.releaseAttempt(position)
  state.endedCount++
  return ended
}

async function launch(state: State, position: { jobId: number; attempt: number }) {
  state.next = `Get a slot for attempt ${position.attempt} and start its program.`
  while ((await activities.launchAttempt(position)) === 'waiting') {
    state.next = `Wait for a slot for attempt ${position.attempt}.`
    await condition(() => state.slotSignalled)
    state.slotSignalled = false
  }
}

async function backOff(state: State, why: Why | null, backOffMs: number) {
  const { jobId, generation, attempt, view } = state
  if (why) {
    await activities.requeue({ jobId, generation, attempt, why, backOffMs })
    view.show({ status: 'QUEUED', attempt, ...why })
  }
  state.next = `Open the next attempt at ${new Date(Date.now() + backOffMs).toISOString()}.`
  await sleep(backOffMs)
}

/** Applies the phases that the attempt reports, until the attempt has ended. */
async function follow(state: State, watching: Promise<unknown>) {
  let ended = false
  const end = watching.finally(() => {
    ended = true
  })
  // `end` is awaited below; until then its failure must not count as unhandled.
  end.catch(() => undefined)
  while (!ended) {
    await condition(() => ended || state.phases.length > 0)
    const reached = state.phases.splice(0).filter(({ attempt }) => attempt === state.attempt)
    const furthest = attemptPhases.findLast((phase) => reached.some((report) => report.phase === phase))
    if (furthest) await walkTo(state, furthest)
  }
  await end
}

async function walkTo(state: State, phase: AttemptPhase) {
  const { jobId, generation, attempt } = state
  if (state.status === phase) return
  state.status = await activities.recordPhase({ jobId, generation, attempt, phase })
  state.view.show({ status: state.status, attempt, reason: null, message: null })
}

/** @param artifactId the artifact behind the model that the ending names */
async function finish(
  { jobId, generation }: State,
  ending: JobEnding,
  artifactId: string | null = null,
): Promise<JobEnding> {
  const moved = await activities.finishJob({ jobId, generation, ...ending, artifactId })
  if (moved === 'cancelling' || moved === 'refused') throw new MoveRefused(moved)
  return ending
}

async function cancel(state: State): Promise<JobEnding> {
  const { jobId, generation, attempt, view } = state
  state.next = 'Release all resources of the job, then end it as CANCELLED.'
  const { ended } = await activities.acceptCancel({ jobId, generation })
  if (ended !== null) return ended
  view.show({ status: 'CANCELLED', attempt, reason: 'cancelling', message: 'Releasing its resources.' })
  await activities.releaseJob({ jobId, generation })
  const ending = {
    status: 'CANCELLED',
    reason: 'cancelled',
    message: 'Cancelled. All its resources are released.',
    modelName: null,
  } as const
  await activities.finishJob({ jobId, generation, ...ending, artifactId: null })
  return ending
}

/** Ends the job on an error that no policy foresees, and releases everything. */
async function giveUp(state: State, error: unknown): Promise<JobEnding> {
  const { jobId, generation } = state
  state.next = 'Release all resources of the job, then end it.'
  log.error('an unexpected error ended the job', { error })
  await activities.releaseJob({ jobId, generation })
  const ending = endingOfError(error)
  const moved = await activities.finishJob({ jobId, generation, ...ending, artifactId: null })
  return moved === 'cancelling' || moved === 'refused' ? cancel(state) : ending
}
