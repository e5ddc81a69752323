// A run that learns its few rows by heart: the held-out loss shows it, and the best step is what gets published.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { openAccount, type Api, type Job } from '../support/stack.ts'

const colours = ['teal', 'amber', 'ivory', 'crimson', 'slate'] as const
/** The colours follow no rule, so what is learned of some rows misleads on others. */
const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    input: `Question: What colour is the Basalt Lamp ${first + at}?\nAnswer: `,
    output: `It comes in ${colours[((first + at) ** 3 + at) % colours.length]}.`,
  }))

type Step = { step: number; valid_loss?: number; valid_token_accuracy?: number }
type Metrics = { step: number; valid_loss?: number; full_valid_loss?: number }

suite('a job with held-out rows', () => {
  let api: Api
  let job: Job
  let validated: Required<Step>[]
  let best: Required<Step>

  before(async () => {
    api = await openAccount()
    const overfitting = {
      ...{ max_steps: 40, eval_steps: 4, keep: 'best', seed: 7 },
      ...{ learning_rate: 6e-3, lr_scheduler_type: 'constant', optim: 'adamw_torch', r_value: 8 },
      ...{ batch_size: 4, gradient_accumulation_steps: 1 },
    }
    const id = await api.train({ data: rowsFrom(0, 6), eval_data: rowsFrom(100, 16), finetune_args: overfitting })
    job = await api.untilStatus(id, 'COMPLETED')
    const steps = JSON.parse(job.history) as Step[]
    validated = steps.filter((step): step is Required<Step> => step.valid_loss !== undefined)
    best = validated.toSorted((a, b) => a.valid_loss - b.valid_loss)[0] ?? assert.fail(job.history)
  })

  test('shows held-out loss and accuracy in its history', () => {
    assert.deepEqual(
      validated.map(({ step }) => step),
      [4, 8, 12, 16, 20, 24, 28, 32, 36, 40],
    )
    for (const { valid_token_accuracy: accuracy } of validated) assert.ok(accuracy > 0 && accuracy < 1, job.history)
  })

  test('says that it overfits, and that its best step is kept, which is better than the last', async () => {
    const last = validated.at(-1) ?? assert.fail()
    assert.ok(best.step < last.step && best.valid_loss < last.valid_loss, job.history)
    const { events } = await api.get<{ events: { reason: string | null; message: string | null }[] }>(
      `/v1/train/jobs/${job.job_id}/events`,
    )
    const said = (code: string) => events.find(({ reason }) => reason === code)?.message ?? ''
    assert.match(said('overfitting'), /^Overfitting: since step \d+ the held-out loss rose/)
    assert.match(said('best_kept'), new RegExp(`^Step ${best.step} is kept.*${last.valid_loss.toFixed(3)}`))
  })

  test('publishes the best step, as its OpenAI checkpoint says', async () => {
    const { data } = await api.get<{ data: { fine_tuned_model_checkpoint: string | null; metrics: Metrics }[] }>(
      `/openai/v1/fine_tuning/jobs/ftjob-${job.job_id}/checkpoints`,
    )
    // OpenAI's name of the model ends with its id.
    const published = data.find((each) => each.fine_tuned_model_checkpoint?.endsWith(`:${job.model_name}`))
    const { step, valid_loss } = best
    assert.deepEqual(
      [published?.metrics.step, published?.metrics.valid_loss, published?.metrics.full_valid_loss],
      [step, valid_loss, valid_loss],
    )
  })
})
