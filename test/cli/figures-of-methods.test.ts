// `anneal metrics` and `anneal rollouts` print more than the loss where the loss of a method says little.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecordingService } from '../support/recording-service.ts'

const step = (number: number, series: Record<string, number>) => ({ step: number, loss: 0, valid_loss: null, series })
const sample = { index: 0, text: 'Me.', tokens: 2, finish_reason: 'stop', reward: 1, grades: {}, error: null }
const group = { row: 6, prompt: 'Who?', item: {}, samples: [{ ...sample, advantage: 0.5 }] }
const service = await startRecordingService(({ url }) => ({
  body: url.includes('/rollouts')
    ? {
        step: 3,
        policy_step: 2,
        next: null,
        groups: [
          { ...group, dataset_id: 'b', line: 1 },
          { ...group, dataset_id: null, line: null },
        ],
      }
    : { metrics: [step(1, { reward: 0.25 }), step(2, { reward: 0.5, valid_reward: 0.75 })], next: null },
}))

test('steps have the rewards beside the loss, and no column that no step fills', async () => {
  const { stdout } = await service.anneal(['metrics', '7'])
  assert.match(stdout, /LEARNING RATE +REWARD +HELD-OUT REWARD\n1 .* 0\.2500\s*\n2 .* 0\.5000 +0\.7500/)
  assert.doesNotMatch(stdout, /MARGIN/)
})

test('a sampled prompt stands with its data set and its line there', async () => {
  const { stdout } = await service.anneal(['rollouts', '7'])
  assert.match(stdout, /row 6 \(b, line 1\): Who\?[^]*row 6: Who\?/)
})
