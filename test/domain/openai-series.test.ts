import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resultColumns } from '../../src/domain/openai-series.ts'
import type { TrainingMethod } from '../../src/domain/training-method.ts'

const columnsOf = (type: TrainingMethod['type'], more: object = {}) =>
  resultColumns({ method: { type, hyperparameters: {}, given: [], ...more } })
    .filter(({ shown }) => shown !== 'train_entropy' && shown !== 'valid_entropy')
    .map(({ shown }) => shown)

test('the result file of a supervised job has the columns of OpenAI alone, as old clients read it', () => {
  assert.deepEqual(resultColumns({}), [])
  assert.deepEqual(columnsOf('supervised'), [])
})

test('the result file of pairs has what was trained and what was held out', () => {
  const columns = columnsOf('dpo')
  for (const name of ['rewards/margins', 'rewards/accuracies', 'logps/chosen'])
    assert.ok(columns.includes(`train_${name}`) && columns.includes(`valid_${name}`))
})

test("the result file of rewards has OpenAI's names, and a column for each grader", () => {
  const grade = (name: string) => ({ type: 'python', name, source: 'def grade(sample, item): return 1' })
  const grader = { type: 'multi', name: 'both', graders: { a: grade('a'), b: grade('b') }, calculate_output: 'a + b' }
  const columns = columnsOf('reinforcement', { task: { grader } })
  for (const name of ['train_mean_reward', 'completion_tokens_mean', 'mean_unresponsive_rewards', 'valid_mean_reward'])
    assert.ok(columns.includes(name), name)
  for (const name of ['a', 'b']) assert.ok(columns.includes(`train_rewards/${name}/mean`), name)
  assert.equal(new Set(columns).size, columns.length)
  assert.ok(!columns.includes('train_reward'))
})
