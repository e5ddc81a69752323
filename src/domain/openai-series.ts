// The figures of a method under the names of OpenAI's routes: `train_` or `valid_` before those of TRL.
import { rewardOfTask } from './reward-task.ts'
import { trainingMethods } from './method-table.ts'
import { methodNameOf, type TrainingMethod } from './training-method.ts'

/** A figure as a step has it, and its name in OpenAI's routes. */
type Figure = { stored: string; shown: string }
type OfMethod = { method?: TrainingMethod | null | undefined }

const trained = (name: string): Figure => ({ stored: name, shown: `train_${name}` })
const validated = (name: string): Figure => ({ stored: `valid_${name}`, shown: `valid_${name}` })

export const openAiSeries = (spec: OfMethod): Figure[] =>
  trainingMethods[methodNameOf(spec)].series.flatMap((name) => [trained(name), validated(name)])

/** OpenAI's own names. */
const ofReward: Record<string, string> = {
  reward: 'train_mean_reward',
  'completions/mean_length': 'completion_tokens_mean',
  frac_reward_unscored: 'mean_unresponsive_rewards',
  valid_reward: 'valid_mean_reward',
}

/** The columns of a result file after those that each one has. A supervised job has OpenAI's alone. */
export function resultColumns(spec: OfMethod): Figure[] {
  const type = methodNameOf(spec)
  if (type === 'supervised') return []
  if (!spec.method?.task) return openAiSeries(spec)
  const scores = Object.keys(rewardOfTask(spec.method.task).graders).map((name) => `rewards/${name}/mean`)
  const names = [...trainingMethods[type].series, 'frac_reward_unscored', ...scores]
  const figures = [...names.map(trained), validated('reward')]
  return figures.map(({ stored, shown }) => ({ stored, shown: ofReward[stored] ?? shown }))
}
