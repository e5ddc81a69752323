// Programs as graders over HTTP, in their sandbox.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { graders, skip } from '../../grading/python/support.ts'
import { startPublic } from '../support.ts'

const edge = await startPublic({ grading: { python: graders() } })
const call = async (path: string, json: object) => {
  const answered = await edge.call('POST', `/openai/v1/fine_tuning/alpha/graders/${path}`, { json })
  return [answered.status, answered.json] as const
}

test('a program of a formula gives its number, or what it printed and its traceback', { skip }, async () => {
  const source =
    'def grade(sample, item):\n  print("looked")\n  return min(1, item["most"] / len(sample["output_text"]))'
  const grader = { type: 'multi', calculate_output: '2 * short', graders: { short: { type: 'python', source } } }
  const [status, found] = await call('run', { grader, model_sample: 'four', item: { most: 2 } })
  assert.deepEqual([status, found.reward, found.sub_rewards], [200, 1, { short: 0.5 }])
  assert.equal(found.metadata.errors.python_grader_runtime_error, false)
  const [, failed] = await call('run', { grader, model_sample: '', item: { most: 2 } })
  assert.deepEqual([failed.reward, failed.metadata.errors.python_grader_runtime_error], [0, true])
  assert.match(failed.metadata.errors.python_grader_runtime_error_details, /^looked\n[^]*ZeroDivisionError/)
})

test('a program that defines no grade is refused with the place of its grader', { skip }, async () => {
  const [status, { error }] = await call('validate', { grader: { type: 'python', source: 'x = 1' } })
  assert.deepEqual([status, error.param], [400, 'grader'])
  assert.match(error.message, /defines no function grade\(sample, item\)/)
})
