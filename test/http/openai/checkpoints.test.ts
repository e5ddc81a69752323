import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PreparedData } from '../../../src/domain/training-job.ts'
import { startPublic, trainingJob } from '../support.ts'

const step = { loss: 1.5, learning_rate: 0.001, epoch: 1, iter_time: 0.1, flops: 1e9, remaining_time: 3 }
const preparedData = { evaluation: { rowCount: 32 } } as PreparedData
const artifact = (at: number) => ({ id: `0000000${at}`, step: at, committedAt: new Date(0) })

test('a checkpoint has the held-out loss of its step, in full where every held-out row was taken', async () => {
  const edge = await startPublic({
    database: {
      trainingJobs: { find: () => Promise.resolve(trainingJob({ id: 7, preparedData })) },
      artifacts: { listUsable: () => Promise.resolve([artifact(3), artifact(2), artifact(1)]) },
      trainingSteps: {
        find: () =>
          Promise.resolve([
            { ...step, step: 1 },
            { ...step, step: 2, token_accuracy: 0.625, valid_loss: 0.5, valid_token_accuracy: 0.75, valid_rows: 16 },
            { ...step, step: 3, valid_loss: 0.25, valid_token_accuracy: 1, valid_rows: 32 },
          ]),
      },
    },
  })
  const { json } = await edge.call('GET', '/openai/v1/fine_tuning/jobs/ftjob-7/checkpoints')
  assert.deepEqual(
    json.data.map(({ metrics }: { metrics: unknown }) => metrics),
    [
      {
        ...{ step: 3, train_loss: 1.5, valid_loss: 0.25, valid_mean_token_accuracy: 1 },
        ...{ full_valid_loss: 0.25, full_valid_mean_token_accuracy: 1 },
      },
      { step: 2, train_loss: 1.5, train_mean_token_accuracy: 0.625, valid_loss: 0.5, valid_mean_token_accuracy: 0.75 },
      { step: 1, train_loss: 1.5 },
    ],
  )
})
