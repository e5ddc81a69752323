// What follows the end of an attempt. Pure: the workflow calls it, so a change of its answers needs `patched`.
import { isInterruption, policyOf, type AttemptCause } from './attempt-cause.ts'

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

type Budget = { resumesLeft: number }

export type Decision =
  | { next: 'complete' }
  | {
      next: 'complete_partially'
      reason: 'resume_limit_reached' | 'evaluation_failed' | 'deadline'
      message: string
    }
  | { next: 'relaunch'; mode: 'train'; counts: boolean; backOffMs: number }
  | { next: 'relaunch'; mode: 'evaluate'; counts: false; backOffMs: number }
  | { next: 'fail'; reason: AttemptCause | 'resume_limit_reached'; message: string }

/** Ten in a row without a new checkpoint: something is wrong that waiting does not cure. */
const fruitlessAttemptsAllowed = 10
const sameFaultsAllowed = 2
const evaluationAttemptsAllowed = 3

/**
 * What follows the newest outcome.
 * @param outcomes every outcome of this run of the workflow, oldest first; not empty
 * @param budget resumes still allowed by `resume_limit`
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
    return { next: 'complete_partially', reason: 'deadline', message: `The model is saved. ${outcome.message}` }
  if (failures.length < evaluationAttemptsAllowed && tries.length < fruitlessAttemptsAllowed)
    return { next: 'relaunch', mode: 'evaluate', counts: false, backOffMs: backOffMs(tries.length) }
  return {
    next: 'complete_partially',
    reason: 'evaluation_failed',
    message: `The model is saved, but its evaluation failed ${tries.length} times: ${outcome.message}`,
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
    message: `The resume limit is reached; the last attempt ended with: ${message}`,
  } as const
  return hasCheckpoint ? { next: 'complete_partially', ...ending } : { next: 'fail', ...ending }
}

/** Exit 0 without a model breaks the trainer's contract: the bug that it is. */
function diagnose({ cause, message }: AttemptOutcome): { cause: AttemptCause; message: string } {
  return cause === 'finished'
    ? { cause: 'code_error', message: 'The trainer ended without saving a model.' }
    : { cause, message }
}

/** Attempts in a row, the newest included, that brought no new checkpoint. */
function fruitless(outcomes: readonly AttemptOutcome[]): number {
  return outcomes.length - 1 - outcomes.findLastIndex((each) => each.newCheckpoint)
}

/** The same, of one cause. */
function sameInARow(outcomes: readonly AttemptOutcome[], cause: AttemptCause): number {
  return outcomes.length - 1 - outcomes.findLastIndex((each) => each.newCheckpoint || each.cause !== cause)
}

/** None for the first interruption after progress, then 2 s doubling to 5 minutes. */
function backOffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(2000 * 2 ** (failures - 2), 300_000)
}
