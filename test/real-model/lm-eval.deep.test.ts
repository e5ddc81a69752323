// lm-eval scores a real model through the API as it scores the same files in transformers.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { featuresOf } from '../clients/third-party/run-clients.ts'
import { baseFolder } from './support/reference.ts'

const client = { name: 'lm-eval 0.4.13', script: 'lm_eval_client.py', requirements: 'lm-eval.txt' }
// The runner takes a file to be over when its suites are.
const { results, chatter } = await featuresOf(client, await baseFolder())

suite('lm-eval on a real model', () => {
  for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
  test('runs its whole script', () => assert.ok(results.length > 3, chatter))
})
