// Decides what follows the end of an attempt. The workflow calls it: a changed decision needs `patched`.
import { isInterruption, policyOf, type AttemptCause } from './attempt-cause.ts'

export type AttemptOutcome = {
  cause: AttemptCause
  /** What happened and, if known, what to do next. */
  message: string
  mode: 'train' | 'evaluate'
  /** This attempt or an earlier one committed the model. */
  modelSaved: boolean
  evaluated: boolean
  /** The attempt committed a checkpoint beyond the one it started from. */
  newCheckpoint: boolean
  /** The job has a checkpoint to resume from. */
  hasCheckpoint: boolean
}

type Budget = { resumesLeft: number }

export type Decision =
  | { next: 'complete' }
  | {
      next: 'complete_partially'
      reason: 'resume_limit_reached' | 'evaluation_failed' | 'deadline' | 'grader_failed'
      message: string
    }
  | { next: 'relaunch'; mode: 'train'; counts: boolean; backOffMs: number }
  | { next: 'relaunch'; mode: 'evaluate'; counts: false; backOffMs: number }
  | { next: 'fail'; reason: AttemptCause | 'resume_limit_reached'; message: string }

/** Attempts in a row without a new checkpoint: waiting does not cure what is wrong. */
const fruitlessAttemptsAllowed = 10
const sameFaultsAllowed = 2
const evaluationAttemptsAllowed = 3

/**
 * Decides what follows the newest outcome.
 * @param outcomes every outcome of this generation, oldest first; at least one
 * @param budget resumes that `resume_limit` still allows
 */
export function decideNext(outcomes: readonly AttemptOutcome[], budget: Budget): Decision {
  const outcome = outcomes.at(-1)
  if (!outcome) throw new Error('decideNext needs an outcome')
  if (outcome.modelSaved) return outcome.evaluated ? { next: 'complete' } : afterSavedModel(outcomes, outcome)
  return byPolicy(outcomes, outcome, budget)
}

function afterSavedModel(outcomes: readonly AttemptOutcome[], outcome: AttemptOutcome): Decision {
  const tries = outcomes.filter((each) => each.modelSaved)
  const failures = tries.filter(({ cause }) => !isInterruption(cause))
  if (outcome.cause === 'deadline')
    return {
      next: 'complete_partially',
      reason: 'deadline',
      message: `The model is saved, but its evaluation is not complete. ${outcome.message}`,
    }
  if (failures.length < evaluationAttemptsAllowed && tries.length < fruitlessAttemptsAllowed)
    return { next: 'relaunch', mode: 'evaluate', counts: false, backOffMs: backOffMs(tries.length) }
  return {
    next: 'complete_partially',
    reason: 'evaluation_failed',
    message: `The model is saved, but its evaluation failed ${tries.length} times. The last one: ${outcome.message}`,
  }
}

function byPolicy(outcomes: readonly AttemptOutcome[], outcome: AttemptOutcome, { resumesLeft }: Budget): Decision {
  const { hasCheckpoint } = outcome
  const { cause, message } = diagnose(outcome)
  const policy = policyOf(outcome.cause)
  if (!policy.again)
    return policy.publishesAs !== null && hasCheckpoint
      ? { next: 'complete_partially', reason: policy.publishesAs, message }
      : { next: 'fail', reason: cause, message }
  const inARow = fruitless(outcomes)
  const isFruitless =
    policy.stopsAfter === 'any'
      ? inARow >= fruitlessAttemptsAllowed
      : sameInARow(outcomes, outcome.cause) >= sameFaultsAllowed
  if (isFruitless) return { next: 'fail', reason: cause, message }
  const wait = policy.backsOff ? backOffMs(inARow) : 0
  if (!policy.counts || resumesLeft > 0)
    return { next: 'relaunch', mode: 'train', counts: policy.counts, backOffMs: wait }
  const ending = {
    reason: 'resume_limit_reached',
    message: `The job has used all of its resumes. Its last attempt: ${message}`,
  } as const
  return hasCheckpoint ? { next: 'complete_partially', ...ending } : { next: 'fail', ...ending }
}

/** The outcomes that a later decision looks at: with these alone `decideNext` decides as with all. */
export function decisiveOutcomes(outcomes: readonly AttemptOutcome[]): AttemptOutcome[] {
  const newest = outcomes.findLastIndex((each) => each.newCheckpoint)
  return outcomes.filter((each, index) => index >= newest || each.modelSaved)
}

/** A trainer that exits with 0 must have saved a model; one that has not is a bug. */
function diagnose({ cause, message }: AttemptOutcome): { cause: AttemptCause; message: string } {
  return cause === 'finished'
    ? { cause: 'code_error', message: "The trainer ended without saving a model. The job's logs show its last steps." }
    : { cause, message }
}

/** Newest attempts in a row that brought no new checkpoint. */
function fruitless(outcomes: readonly AttemptOutcome[]): number {
  return outcomes.length - 1 - outcomes.findLastIndex((each) => each.newCheckpoint)
}

/** Newest attempts in a row that ended with this cause and brought no new checkpoint. */
function sameInARow(outcomes: readonly AttemptOutcome[], cause: AttemptCause): number {
  return outcomes.length - 1 - outcomes.findLastIndex((each) => each.newCheckpoint || each.cause !== cause)
}

/** No wait after the first failure, then 2 s, doubling up to 5 minutes. */
function backOffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(2000 * 2 ** (failures - 2), 300_000)
}
