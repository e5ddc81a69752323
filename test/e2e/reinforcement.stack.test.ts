// A job that learns from rewards: what it tells, what it stores, and how its evaluation is scored.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { pidOf } from '../support/processes.ts'
import { connection, openAccount } from '../support/stack.ts'

type Sample = { reward: number | null; grades: Record<string, number | null>; tokens: number; text: string }
type Page = { step: number; policy_step: number; groups: { row: number; samples: Sample[] }[]; next: number | null }
type Metric = { step: number; series: Record<string, number> }
type Share = { mean: number; rows: number }
type Evaluation = { summary: Record<string, { tuned: Share; base: Share }> }
type Events = { data: { type: string; data: Record<string, unknown> }[] }

const texts = { input: '{{sample.output_text}}', reference: '{{item.answer}}' }

suite('a job of reinforcement', () => {
  test('its series, its stored answers and its evaluation agree, with a model that judges', async () => {
    const api = await openAccount()
    const asked = [{ role: 'user', content: 'Is {{sample.output_text}} polite?' }]
    const grader = {
      type: 'multi',
      calculate_output: '0.5 * close + 0.5 * judge',
      graders: {
        close: { type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match', ...texts },
        judge: { type: 'score_model', name: 'judge', model: connection().baseModel, input: asked },
      },
    }
    const rows = (said: string, count: number) =>
      Array.from({ length: count }, (_, row) => ({ prompt: `${said} ${row}: `, answer: 'a' }))
    const hyperparameters = {
      ...{ batch_size: 4, samples_per_prompt: 4, max_completion_tokens: 12, num_iterations: 2, eval_interval: 3 },
    }
    const id = await api.train({
      ...{ data: rows('Say', 24), eval_data: rows('Write', 5), finetune_args: { max_steps: 4 } },
      method: { type: 'reinforcement', reinforcement: { grader, hyperparameters } },
    })
    await api.untilStatus(id, 'COMPLETED')

    const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
    const page = (query: string) => api.get<Page>(`/v1/train/jobs/${id}/rollouts?limit=100&${query}`)
    const meanReward = ({ groups }: Page) =>
      mean(groups.flatMap(({ samples }) => samples.map(({ reward }) => reward ?? 0)))
    for (const step of [1, 3]) {
      const stored = await page(`step=${step}`)
      assert.deepEqual([stored.groups.length, stored.policy_step, stored.next], [4, step - 1, null])
      // Both updates learn from the answers of the first.
      for (const update of [step, step + 1]) {
        const { series } = metrics.find((each) => each.step === update) ?? assert.fail(`step ${update}`)
        isNear(series['reward'], meanReward(stored))
        const judged = stored.groups.flatMap(({ samples }) => samples.map(({ grades }) => grades['judge'] ?? 0))
        isNear(series['rewards/judge/mean'], mean(judged))
      }
    }
    const heldOut = await page('step=4&split=held_out')
    assert.equal(heldOut.groups.length, 5)
    isNear(metrics.at(-1)?.series['valid_reward'], meanReward(heldOut))

    const { summary } = await api.get<Evaluation>(`/v1/train/jobs/${id}/eval`)
    assert.deepEqual(Object.keys(summary).toSorted(), ['close', 'judge', 'reward'])
    assert.deepEqual([summary['reward']?.tuned.rows, summary['reward']?.base.rows], [5, 5])
    const events = await api.get<Events>(`/openai/v1/fine_tuning/jobs/ftjob-${id}/events?limit=100`)
    const last = events.data.find(({ type }) => type === 'metrics')?.data ?? assert.fail('no step')
    isNear(last['full_valid_mean_reward'] as number, meanReward(heldOut))
  })

  test('a killed trainer goes on with the answers and the scores that it had, though its judge is moody', async () => {
    const api = await openAccount()
    const input = [{ role: 'user', content: 'How good is {{sample.output_text}}?' }]
    const judge = { type: 'score_model', name: 'judge', model: connection().baseModel, input, range: [0, 100] }
    const hyperparameters = { batch_size: 2, samples_per_prompt: 4, max_completion_tokens: 8 }
    const id = await api.train({
      data: Array.from({ length: 12 }, (_, row) => ({ prompt: `Say ${row}: ` })),
      // Without a checkpoint every step is replayed.
      finetune_args: { max_steps: 10, save_steps: 100 },
      method: {
        type: 'reinforcement',
        reinforcement: { grader: { ...judge, sampling_params: { temperature: 2 } }, hyperparameters },
      },
    })
    const stored = (step: number) => api.get<Page>(`/v1/train/jobs/${id}/rollouts?step=${step}`)
    const metricsOf = async () => (await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)).metrics
    await eventually(async () => (await metricsOf()).some(({ step }) => step === 3))
    const before = [await stored(1), await stored(2)]
    process.kill(pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer'), 'SIGKILL')
    const { resume_count } = await api.untilStatus(id, 'COMPLETED')
    assert.equal(resume_count, 1)
    assert.deepEqual([await stored(1), await stored(2)], before)
    const metrics = await metricsOf()
    assert.deepEqual(
      metrics.map(({ step }) => step),
      Array.from({ length: 10 }, (_, at) => at + 1),
    )
    for (const { step, series } of metrics) {
      const { groups } = await stored(step)
      isNear(series['reward'], mean(groups.flatMap(({ samples }) => samples.map(({ reward }) => reward ?? 0))), 1e-3)
    }
  })

  test('structured answers have their form in training and evaluation, also after a kill', async () => {
    const api = await openAccount()
    const properties = {
      colour: { enum: ['red', 'green', 'blue'] },
      size: { type: 'integer', maximum: 99, minimum: 0 },
    }
    const schema = { type: 'object', properties, required: ['colour', 'size'], additionalProperties: false }
    const grader = {
      ...{ type: 'string_check', name: 'red', operation: 'eq' },
      ...{ input: '{{sample.output_json.colour}}', reference: 'red' },
    }
    const hyperparameters = { batch_size: 2, samples_per_prompt: 4, max_completion_tokens: 48, num_iterations: 2 }
    const response_format = { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } }
    const body = {
      data: Array.from({ length: 12 }, (_, row) => ({ prompt: `Say ${row}: ` })),
      finetune_args: { max_steps: 8, save_steps: 3 },
      method: { type: 'reinforcement', reinforcement: { grader, hyperparameters, response_format } },
    }
    const metricsOf = async (id: number) =>
      (await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)).metrics
    const killed = await api.train(body)
    await eventually(async () => (await metricsOf(killed)).some(({ step }) => step === 4))
    process.kill(pidOf(`ft-${killed}-a1`) ?? assert.fail('it has no trainer'), 'SIGKILL')
    const whole = await api.train(body)
    await Promise.all([killed, whole].map((id) => api.untilStatus(id, 'COMPLETED')))
    // Each job has a data set of its own.
    const answersOf = async (id: number, step: number) =>
      (await api.get<Page>(`/v1/train/jobs/${id}/rollouts?step=${step}&limit=100`)).groups.map(({ row, samples }) => ({
        row,
        samples,
      }))
    for (const step of [1, 3, 5, 7]) {
      const groups = await answersOf(whole, step)
      assert.deepEqual(await answersOf(killed, step), groups)
      for (const { text } of groups.flatMap(({ samples }) => samples)) assert.match(text, form)
    }
    // The sampler and the trainer draw from one distribution.
    for (const { series } of await metricsOf(whole)) isNear(series['sampling/importance_sampling_ratio/mean'], 1, 1e-3)
    const { eval_results } = await api.get<{ eval_results: { outputs: { output: string }[] }[] }>(
      `/v1/train/jobs/${whole}/eval`,
    )
    assert.ok(eval_results.length > 0)
    for (const { output } of eval_results.flatMap(({ outputs }) => outputs)) assert.match(output, form)
  })
})

const form = /^\{"colour":"(red|green|blue)","size":\d{1,2}\}$/

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function isNear(seen: number | undefined, expected: number, allowed = 1e-5) {
  assert.ok(seen !== undefined && Math.abs(seen - expected) < allowed, `${seen}, expected ${expected}`)
}
