// What a reinforcement job will sample and have judged.
import { rewardOfTask, type RewardTask } from './reward-task.ts'
import type { PastJob } from './training-estimate.ts'
import { samplesPerPrompt, type Hyperparameters, type TrainingMethod } from './training-method.ts'

export type PlannedSampling = {
  samples: number
  sampledTokens: { likely: number; most: number }
  judgeCalls: number
}

/** The share of the most tokens that answers are taken for before a job has run. */
const assumedShare = 0.25

type Run = { steps: number; rowsPerStep: number; past: readonly PastJob[] }

/** Counts the answers that updates learn from, and not those of validations. */
export function plannedSampling(
  { hyperparameters, task }: TrainingMethod & { task: RewardTask },
  { steps, rowsPerStep, past }: Run,
): PlannedSampling {
  const sampledSteps = Math.ceil(steps / Number(hyperparameters['num_iterations']))
  const samples = sampledSteps * rowsPerStep * samplesPerPrompt(hyperparameters)
  const most = Number(hyperparameters['max_completion_tokens'])
  const lengths = past.flatMap(({ answerTokens }) => answerTokens ?? [])
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
  const likely = Math.min(most, lengths.length === 0 ? most * assumedShare : mean)
  const judges = Object.values(rewardOfTask(task).graders).filter(({ type }) => type === 'judge')
  return {
    samples,
    sampledTokens: { likely: Math.round(samples * likely), most: samples * most },
    judgeCalls: samples * judges.length,
  }
}

/** A step computes each answer behind its prompt. */
export const stepOfAnswers = <T extends Pick<PastJob, 'rowsPerStep' | 'tokensPerRow'>>(
  step: T,
  { hyperparameters, answerTokens }: { hyperparameters: Hyperparameters; answerTokens: number },
): T => ({
  ...step,
  rowsPerStep: step.rowsPerStep * samplesPerPrompt(hyperparameters),
  tokensPerRow: step.tokensPerRow === null ? null : step.tokensPerRow + answerTokens,
})
