// Hyperparameters at OpenAI's older place, which clients of before the methods send.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FineTuningRequest } from '../../../src/http/openai/fine-tuning-schemas.ts'
import { methodOf } from '../../../src/http/openai/job.ts'

const asked = (request: object) => methodOf(request as FineTuningRequest)

test('are read without a method, beside supervised, and give way to those of the method', () => {
  const hyperparameters = { n_epochs: 3 }
  const expected = { type: 'supervised', supervised: { hyperparameters } }
  assert.deepEqual(asked({ hyperparameters }), expected)
  assert.deepEqual(asked({ hyperparameters, method: { type: 'supervised' } }), expected)
  assert.deepEqual(asked({ hyperparameters: { n_epochs: 9 }, method: expected }), expected)
  const both = asked({ hyperparameters: { batch_size: 4, n_epochs: 9 }, method: expected })
  assert.deepEqual(both?.supervised?.hyperparameters, { batch_size: 4, n_epochs: 3 })
  assert.equal(asked({}), null)
})

test('are refused beside another method', () => {
  const request = { hyperparameters: { n_epochs: 3 }, method: { type: 'dpo' } }
  assert.throws(() => asked(request), /put it into method\.dpo\.hyperparameters/)
})
