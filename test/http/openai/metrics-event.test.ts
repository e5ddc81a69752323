// Steps of a job as events of OpenAI's type `metrics`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FineTuningGrader } from '../../../src/domain/fine-tuning-grader.ts'
import type { TrainingJob } from '../../../src/domain/training-job.ts'
import { metricsOf } from '../../../src/http/openai/metrics-event.ts'

const grader = {
  ...{ type: 'string_check', name: 'Right answer', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}

function dataOf(step: object) {
  const method = {
    type: 'reinforcement',
    hyperparameters: {},
    given: [],
    task: { grader: FineTuningGrader.parse(grader) },
  }
  const args = { max_steps: 10, num_train_epochs: null, batch_size: 1, gradient_accumulation_steps: 1 }
  const job = { spec: { method, args }, preparedData: { train: { rowCount: 9 }, evaluation: { rowCount: 4 } } }
  const event = metricsOf(job as unknown as TrainingJob, { at: new Date(0), step: { step: 3, loss: 0, ...step } })
  return { message: event.message, data: JSON.parse(JSON.stringify(event.data)) as object }
}

test('a step of reinforcement has the rewards, times and tokens that OpenAI nests', () => {
  const series = {
    ...{ reward: 0.5, valid_reward: 0.75, 'rewards/Right_answer/mean': 0.5, 'completions/mean_length': 37 },
    ...{ 'step_seconds/sampling': 2, 'step_seconds/grading': 1, 'step_seconds/training': 3 },
  }
  const { message, data } = dataOf({ ...series, valid_rows: 4 })
  assert.equal(message, 'Step 3/10: training loss=0.00, mean reward=0.50')
  const named = { name: 'Right answer', type: 'string_check' }
  assert.partialDeepStrictEqual(data, {
    ...{ step: 3, total_steps: 10, train_mean_reward: 0.5, valid_mean_reward: 0.75, full_valid_mean_reward: 0.75 },
    ...{ completion_tokens_mean: 37, mean_unresponsive_rewards: 0 },
    scores: { train_mean_reward: 0.5, valid_mean_reward: 0.75, graders: [{ ...named, train_reward_mean: 0.5 }] },
    errors: { graders: [{ ...named, train_other_error_mean: 0 }] },
    timing: { step: { sampling: 2, grading: 1, training: 3, full_iteration: 6 } },
    usage: { samples: { train_completion_tokens_mean: 37 } },
  })
})

test('the reward of a validation on some rows is not told as that of all', () => {
  assert.ok(!('full_valid_mean_reward' in dataOf({ valid_reward: 0.75, valid_rows: 2 }).data))
})
