// Figures of a reinforcement step, nested as in OpenAI's guide.
import { rewardOf } from '../../domain/fine-tuning-grader.ts'
import { seriesName, type RewardTask } from '../../domain/reward-task.ts'

type Figures = Record<string, number | undefined>

/** The rewards of a step; empty where its method has none. */
export function rewardsOf({ series = {} }: { series?: Figures | undefined } = {}, isFull: boolean) {
  const { reward, valid_reward: valid } = series
  return {
    ...(reward !== undefined && { train_mean_reward: reward }),
    ...(valid !== undefined && { valid_mean_reward: valid, ...(isFull && { full_valid_mean_reward: valid }) }),
  }
}

/** @param isFull whether a validation took every held-out row */
export function reinforcementMetrics(task: RewardTask, step: object, { isFull }: { isFull: boolean }) {
  const figures = Object.fromEntries(Object.entries(step).filter(([, value]) => typeof value === 'number')) as Figures
  const { grader } = task
  const single = grader.type === 'multi' ? grader.graders : { [grader.name]: grader }
  const graders = Object.keys(rewardOf(grader).graders).map((name) => ({
    figuresOf: (figure: string) => figures[`rewards/${seriesName(name)}/${figure}`],
    named: { name, type: single[name]?.type },
  }))
  const { reward, valid_reward: valid } = figures
  const tokens = figures['completions/mean_length']
  const [sampling, grading, training] = ['sampling', 'grading', 'training'].map(
    (part) => figures[`step_seconds/${part}`],
  )
  const whole = [sampling, grading, training].reduce((sum: number, part) => sum + (part ?? 0), 0)
  return {
    train_mean_reward: reward,
    valid_mean_reward: valid,
    full_valid_mean_reward: isFull ? valid : undefined,
    completion_tokens_mean: tokens,
    mean_unresponsive_rewards: figures['frac_reward_unscored'] ?? 0,
    scores: {
      train_mean_reward: reward,
      valid_mean_reward: valid,
      graders: graders.map(({ named, figuresOf }) => ({ ...named, train_reward_mean: figuresOf('mean') })),
    },
    errors: {
      graders: graders.map(({ named, figuresOf }) => ({
        ...named,
        train_other_error_mean: figuresOf('unscored') ?? 0,
      })),
    },
    timing: {
      step: { sampling, grading, training, eval: valid === undefined ? 0 : undefined, full_iteration: whole },
      graders: graders.map(({ named }) => named),
    },
    usage: { samples: { train_completion_tokens_mean: tokens }, graders: graders.map(({ named }) => named) },
  }
}
