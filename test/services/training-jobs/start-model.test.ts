import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withShape } from '../../../src/services/training-jobs/start-model.ts'

const adapter = { r_value: 8, lora_alpha: 16, target_modules: ['q_proj'], use_rslora: false }
const silent = { recommendedArgs: {} }

test('a training from a tuned model has the shape and the scale of its adapter', () => {
  const { use_rslora: _, ...shape } = adapter
  // Jobs of release 0.1.0 had no use_rslora: without it the hash of such a job stays as it was.
  assert.deepEqual(withShape({ seed: 7 }, adapter, silent), { seed: 7, ...shape })
  assert.deepEqual(withShape({}, { ...adapter, use_rslora: true }, silent), { ...adapter, use_rslora: true })
  assert.deepEqual(withShape({}, adapter, { recommendedArgs: { use_rslora: true } }), adapter)
})

test('another scale than that of the adapter is refused', () => {
  assert.throws(() => withShape({ use_rslora: true }, adapter, silent), {
    code: 'invalid_input',
    message: /use_rslora follows from the tuned model and must be absent or false\./,
  })
})
