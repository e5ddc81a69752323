// Why an attempt ended, and what follows. Pure: the workflow calls it, so a change of its answers needs `patched`.
import { assertNever } from './assert-never.ts'

export const attemptCauses = [
  'finished',
  'killed',
  'lost',
  'data_error',
  'model_unavailable',
  'code_error',
  'out_of_memory',
  'fenced',
  'unsupported_runtime',
] as const
/** Each is also the `status_reason` that users read. */
export type AttemptCause = (typeof attemptCauses)[number]

/** Exit codes of the trainer; `docs/internal-api.md` has the table. */
export function causeOfExit(exitCode: number | null): AttemptCause {
  switch (exitCode) {
    case 0:
      return 'finished'
    case 65:
      return 'data_error'
    case 69:
      return 'model_unavailable'
    case 70:
      return 'code_error'
    case 71:
      return 'out_of_memory'
    case 77:
      return 'fenced'
    case 78:
      return 'unsupported_runtime'
    case null:
      return 'lost'
    default:
      return 'killed'
  }
}

export type AttemptOutcome = {
  cause: AttemptCause
  /** One sentence: what happened and, if known, what to do. */
  message: string
  mode: 'train' | 'evaluate'
  /** This attempt, or an earlier one, committed the model. */
  modelSaved: boolean
  evaluated: boolean
  /** A checkpoint beyond the one it started from was committed. */
  newCheckpoint: boolean
  /** Any checkpoint of the job can be resumed from. */
  hasCheckpoint: boolean
}

export type Decision =
  | { next: 'complete' }
  | { next: 'complete_partially'; reason: 'resume_limit_reached' | 'evaluation_failed'; message: string }
  | { next: 'relaunch'; mode: 'train'; counts: boolean; backOffMs: number }
  | { next: 'relaunch'; mode: 'evaluate'; counts: false; backOffMs: number }
  | { next: 'fail'; reason: AttemptCause | 'resume_limit_reached'; message: string }

/** Ten interruptions in a row without a new checkpoint: something is wrong that waiting does not cure. */
const fruitlessInterruptionsAllowed = 10
const sameErrorsAllowed = 2
const evaluationAttemptsAllowed = 3

/**
 * What follows the newest outcome.
 * @param outcomes every outcome of this run of the workflow, oldest first; not empty
 * @param budget resumes still allowed by `resume_limit`
 */
export function decideNext(outcomes: readonly AttemptOutcome[], budget: { resumesLeft: number }): Decision {
  const outcome = outcomes.at(-1)
  if (!outcome) throw new Error('decideNext needs an outcome')
  if (outcome.modelSaved) return outcome.evaluated ? { next: 'complete' } : afterSavedModel(outcomes, outcome)
  switch (outcome.cause) {
    case 'finished':
      // Exit 0 without a model breaks the trainer's contract; treat it as the bug it is.
      return afterError(
        outcomes,
        { ...outcome, cause: 'code_error', message: 'The trainer ended without saving a model.' },
        budget,
      )
    case 'killed':
    case 'lost':
      return afterInterruption(outcomes, outcome, budget)
    case 'out_of_memory':
    case 'code_error':
      return afterError(outcomes, outcome, budget)
    case 'fenced':
      // Refused at its claim though nothing newer exists: a launch that was doubled. Nothing ran, so it does not count.
      return fruitless(outcomes) < fruitlessInterruptionsAllowed
        ? { next: 'relaunch', mode: 'train', counts: false, backOffMs: backOffMs(fruitless(outcomes)) }
        : stop(outcome)
    case 'data_error':
    case 'model_unavailable':
    case 'unsupported_runtime':
      return stop(outcome)
    default:
      return assertNever(outcome.cause)
  }
}

function afterSavedModel(outcomes: readonly AttemptOutcome[], outcome: AttemptOutcome): Decision {
  const tries = outcomes.filter((each) => each.modelSaved)
  const failures = tries.filter(({ cause }) => cause !== 'killed' && cause !== 'lost')
  if (failures.length < evaluationAttemptsAllowed && tries.length < fruitlessInterruptionsAllowed)
    return { next: 'relaunch', mode: 'evaluate', counts: false, backOffMs: backOffMs(tries.length) }
  return {
    next: 'complete_partially',
    reason: 'evaluation_failed',
    message: `The model is saved, but its evaluation failed ${tries.length} times: ${outcome.message}`,
  }
}

function afterInterruption(
  outcomes: readonly AttemptOutcome[],
  outcome: AttemptOutcome,
  budget: { resumesLeft: number },
): Decision {
  if (fruitless(outcomes) >= fruitlessInterruptionsAllowed) return stop(outcome)
  return relaunch(outcomes, outcome, budget)
}

function afterError(
  outcomes: readonly AttemptOutcome[],
  outcome: AttemptOutcome,
  budget: { resumesLeft: number },
): Decision {
  const trailing = outcomes.slice(
    outcomes.findLastIndex((each) => each.newCheckpoint || each.cause !== outcome.cause) + 1,
  )
  if (trailing.length >= sameErrorsAllowed) return stop(outcome)
  return relaunch(outcomes, outcome, budget)
}

function relaunch(
  outcomes: readonly AttemptOutcome[],
  outcome: AttemptOutcome,
  budget: { resumesLeft: number },
): Decision {
  if (budget.resumesLeft > 0)
    return { next: 'relaunch', mode: 'train', counts: true, backOffMs: backOffMs(fruitless(outcomes)) }
  const message = `The resume limit is reached; the last attempt ended with: ${outcome.message}`
  return outcome.hasCheckpoint
    ? { next: 'complete_partially', reason: 'resume_limit_reached', message }
    : { next: 'fail', reason: 'resume_limit_reached', message }
}

function stop(outcome: AttemptOutcome): Decision {
  return { next: 'fail', reason: outcome.cause, message: outcome.message }
}

/** Attempts in a row, the newest included, that brought no new checkpoint. */
function fruitless(outcomes: readonly AttemptOutcome[]): number {
  return outcomes.length - 1 - outcomes.findLastIndex((each) => each.newCheckpoint)
}

/** None for the first interruption after progress, then 2 s doubling to 5 minutes. */
function backOffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(2000 * 2 ** (failures - 2), 300_000)
}
