// What the command line says of costs, against a service that gives prepared answers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRecordingService, type Prepared } from '../support/recording-service.ts'

const amount = {
  ...{ prompts: 1, prompt_tokens: 2, completion_tokens: 3, engine_seconds: 0, training_seconds: 4, gpu_seconds: 0 },
}
const job = {
  ...{ job_id: 7, display_name: 'bot', status: 'TRAINING MODEL', status_reason: null, status_message: null },
  ...{ start_time: '2026-11-20T10:00:00.000000', dataset: { display_name: 'rows' }, skipped_rows: 0, resume_count: 0 },
  ...{ model_name: null, history: '[]' },
}
const record = {
  ...{ ...job, created_at: job.start_time, account_id: 'a', account_name: 'red', queue: { ahead: 3 }, progress: null },
  ...{ status: 'QUEUED', status_reason: 'waiting_for_slot', status_message: 'Waiting for a free slot.' },
  ...{ attempts: { count: 1, training_seconds: 0 }, links: { temporal_ui: null }, newest_events: [] },
}
let prices = true
const { anneal } = await startRecordingService(({ url }): Prepared => {
  if (url.startsWith('/v1/train'))
    return { body: { ...job, ...(prices && { cost: { currency: 'EUR', micros: 1_250_000 } }) } }
  if (url.startsWith('/internal/v1/admin/jobs/'))
    return { body: { ...record, cost: { currency: 'EUR', micros: 1200 } } }
  const usage = [{ ...amount, model_name: 'm', display_name: 'm', ...(prices && { cost_micros: 1200 }) }]
  return { body: { from: '2026-11-20', to: '2026-11-20', usage, next: null, ...(prices && { currency: 'EUR' }) } }
})

test('a job and the usage tell their cost', async () => {
  assert.match((await anneal(['job', '7'])).stdout, /^cost +1\.25 EUR$/m)
  assert.match((await anneal(['usage', '--by', 'model'])).stdout, /COST\n.* 0\.0012 EUR/)
})

test('operators read of one job whose it is, why it waits, how many are ahead and what it cost', async () => {
  const { stdout } = await anneal(['operator', 'job', '7'])
  for (const line of [
    /^account +red \(a\)$/m,
    /^status +QUEUED \(waiting_for_slot\)$/m,
    /^message +Waiting for a free slot\.$/m,
    /^ahead +3$/m,
    /^cost +0\.0012 EUR$/m,
  ])
    assert.match(stdout, line)
})

test('nothing mentions money where the operator has set no prices', async () => {
  prices = false
  for (const args of [['job', '7'], ['usage']]) assert.doesNotMatch((await anneal(args)).stdout, /cost/i)
})
