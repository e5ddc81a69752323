// A resume goes on as if the job had never stopped, also while its model is evaluated and when messages are delivered again.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { deliverAgain } from '../support/database.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'

suite('cancel and resume', async () => {
  const api = await openAccount()
  const train = (more = {}) => api.train({ data: sampleRows, finetune_args: shortRun, ...more })

  test('a job cancelled while its model is evaluated does not train again when it is resumed', async () => {
    const eval_data = Array.from({ length: 5 }, () => sampleRows).flat()
    const id = await train({ eval_data, finetune_args: { max_steps: 2 } })
    await api.untilStatus(id, 'EVALUATING MODEL')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.until(id, ({ status }) => status === 'CANCELLED')
    await api.post(`/v1/train/jobs/${id}/resume`)
    await api.untilStatus(id, 'COMPLETED')
    const { attempts } = await api.get<{ attempts: { mode: string }[] }>(`/v1/train/jobs/${id}/attempts`)
    assert.deepEqual(
      attempts.map(({ mode }) => mode),
      ['evaluate', 'train'],
    )
  })

  test('messages that are delivered again, a cancel among them, leave the resumed run alone', async () => {
    const id = await train()
    await api.untilStatus(id, 'TRAINING MODEL')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.until(id, ({ status }) => status === 'CANCELLED')
    await api.post(`/v1/train/jobs/${id}/resume`)
    await api.untilStatus(id, 'TRAINING MODEL')
    await deliverAgain(id)
    const done = await api.untilStatus(id, 'COMPLETED')
    assert.equal(done.resume_count, 1)
  })
})
