// A training whose answers are sampled by model servers: the same answers as the trainer would sample, whatever is killed.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { policiesOf } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createOperator } from '../support/operator.ts'
import { livingServers, pidOf } from '../support/processes.ts'
import { connection, openAccount } from '../support/stack.ts'

type Sample = { reward: number | null; tokens: number; text: string; finish_reason: string }
type Page = { step: number; groups: { row: number; samples: Sample[] }[] }

/** Without the data set, of which each job has its own. */
const answersIn = ({ groups }: Page) => groups.map(({ row, samples }) => ({ row, samples }))
type Metric = { step: number; series: Record<string, number> }
type Overview = { model_servers: { replicas: { adapters: string[] | null }[] }[] }

const ratio = 'sampling/importance_sampling_ratio/mean'

suite('rollouts of model servers', () => {
  const jobOf = (rollouts: string, hyperparameters: Record<string, unknown>, args: Record<string, unknown>) => ({
    data: Array.from({ length: 12 }, (_, row) => ({ prompt: `Say ${row}: `, answer: 'a' })),
    eval_data: Array.from({ length: 3 }, (_, row) => ({ prompt: `Write ${row}: `, answer: 'a' })),
    finetune_args: args,
    method: {
      type: 'reinforcement',
      reinforcement: {
        grader: {
          ...{ type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match' },
          ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
        },
        hyperparameters: { batch_size: 4, samples_per_prompt: 4, rollouts, ...hyperparameters },
      },
    },
  })
  const loaded = async (id: number) => {
    const { model_servers: servers } = await createOperator().get<Overview>('/overview')
    const names = servers.flatMap(({ replicas }) => replicas.flatMap(({ adapters }) => adapters ?? []))
    return names.filter((name) => name.startsWith(`policy-${id}-`))
  }

  test('a model server draws the answers that the trainer would draw, and keeps no policy', async () => {
    const api = await openAccount()
    const asked = { max_completion_tokens: 10, num_iterations: 2, eval_interval: 2, temperature: 0.9 }
    const of = async (rollouts: string) => {
      const id = await api.train(jobOf(rollouts, asked, { max_steps: 4, seed: 3 }))
      await api.untilStatus(id, 'COMPLETED')
      const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
      const page = (query: string) => api.get<Page>(`/v1/train/jobs/${id}/rollouts?limit=100&${query}`)
      const pages = [await page('step=1'), await page('step=3'), await page('step=2&split=held_out')]
      return { id, metrics, groups: pages.map(answersIn) }
    }
    const [inline, served] = [await of('inline'), await of('server')]
    assert.deepEqual(served.groups[0], inline.groups[0])
    for (const [at, { series }] of served.metrics.entries()) {
      const seen = series[ratio] ?? assert.fail('no ratio to the sampler')
      assert.ok(Math.abs(seen - 1) < 1e-3, `step ${at + 1}: ${seen}`)
      assert.ok(Math.abs((series['loss'] ?? 0) - (inline.metrics[at]?.series['loss'] ?? 0)) < 1e-2)
    }
    assert.deepEqual(await policiesOf(served.id), [])
    assert.deepEqual(await loaded(served.id), [])
  })

  test('a model server draws answers in the form of the job, by the distribution that the trainer scores', async () => {
    const api = await openAccount()
    const properties = {
      colour: { enum: ['red', 'green', 'blue'] },
      size: { type: 'integer', minimum: 1, maximum: 99 },
    }
    const schema = { type: 'object', properties, required: ['colour', 'size'], additionalProperties: false }
    const response_format = { type: 'json_schema', json_schema: { name: 'form', schema, strict: true } }
    const of = async (rollouts: string) => {
      const { method, ...body } = jobOf(rollouts, { max_completion_tokens: 48 }, { max_steps: 2, seed: 3 })
      const reinforcement = { ...method.reinforcement, response_format }
      const id = await api.train({ ...body, method: { ...method, reinforcement } })
      await api.untilStatus(id, 'COMPLETED')
      const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
      const page = await api.get<Page>(`/v1/train/jobs/${id}/rollouts?limit=100&step=1`)
      return { metrics, groups: answersIn(page) }
    }
    const [inline, served] = [await of('inline'), await of('server')]
    assert.deepEqual(served.groups, inline.groups)
    for (const { text } of served.groups.flatMap(({ samples }) => samples))
      assert.deepEqual(Object.keys(JSON.parse(text) as object), ['colour', 'size'])
    for (const { step, series } of served.metrics) {
      const seen = series[ratio] ?? assert.fail('no ratio to the sampler')
      assert.ok(Math.abs(seen - 1) < 1e-3, `step ${step}: ${seen}`)
    }
  })

  test('after kills of its trainer, its model server and the api it goes on with the committed answers', async () => {
    const api = await openAccount()
    const id = await api.train(jobOf('server', { max_completion_tokens: 8 }, { max_steps: 8, save_steps: 100 }))
    const metricsOf = async () => (await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)).metrics
    const stored = (step: number) => api.get<Page>(`/v1/train/jobs/${id}/rollouts?step=${step}`)
    const reached = (step: number) =>
      eventually(async () => (await metricsOf().catch(() => [])).some((each) => each.step >= step))
    await reached(3)
    const before = [await stored(1), await stored(2)]
    process.kill(pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer'), 'SIGKILL')
    process.kill(-(livingServers(connection().baseModel)[0] ?? assert.fail('no model server')), 'SIGKILL')
    await reached(5)
    process.kill(processId(connection(), 'api'), 'SIGKILL')
    const { resume_count } = await api.untilStatus(id, 'COMPLETED')
    assert.equal(resume_count, 1)
    assert.deepEqual([await stored(1), await stored(2)], before)
    assert.deepEqual(
      (await metricsOf()).map(({ step }) => step),
      Array.from({ length: 8 }, (_, at) => at + 1),
    )
    assert.deepEqual(await policiesOf(id), [])
    assert.deepEqual(await loaded(id), [])
  })
})
