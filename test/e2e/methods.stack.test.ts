// Jobs that learn from preferences and from judged answers, held to the figures of TRL, step by step.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { sampleRows } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'

const trl = new URL('../../runtime/tests/trainer/trl/', import.meta.url)
const linesOf = (name: string) =>
  readFileSync(new URL(name, trl), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

type Case = {
  case: string
  data: string
  args: Record<string, unknown>
  method: { type: string }
  steps: ({ step: number; loss: number; grad_norm: number } & Record<string, number>)[]
}
type Share = { mean: number; rows: number }
type Evaluation = { eval_results: unknown[]; summary: Record<string, { tuned: Share; base: Share }> }
type Metric = Record<string, number | null> & { series: Record<string, number> }

const cases = linesOf('figures.jsonl') as unknown as Case[]

suite('jobs of other methods', () => {
  for (const name of ['dpo-sigmoid', 'kto'])
    test(`${name}: every step has the figures of TRL, and the job shows its method`, async () => {
      const { data, args, method, steps } = cases.find((each) => each.case === name) ?? assert.fail(name)
      const api = await openAccount()
      const id = await api.train({
        data: linesOf(data),
        finetune_args: { ...args, warmup_steps: 0 },
        method,
      })
      await api.untilStatus(id, 'COMPLETED')

      const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
      for (const { step, loss, grad_norm, ...series } of steps) {
        const seen = metrics.find((each) => each['step'] === step) ?? assert.fail(`step ${step}`)
        isNear(seen['loss'], loss, 2e-5, `${step} loss`)
        isNear(seen['grad_norm'], grad_norm, 2e-4, `${step} grad_norm`)
        for (const [figure, value] of Object.entries(series))
          isNear(seen.series[figure], value, 2e-4, `${step} ${figure}`)
      }
      const shown = await api.get<{ method: Record<string, { hyperparameters: Record<string, unknown> }> }>(
        `/openai/v1/fine_tuning/jobs/ftjob-${id}`,
      )
      assert.equal(shown.method['type'], method.type)
      assert.equal(shown.method[method.type]?.hyperparameters['beta'], 0.1)
      const evaluation = await api.get<Evaluation>(`/v1/train/jobs/${id}/eval`)
      const pairs = evaluation.summary['prefers_chosen']
      assert.ok(evaluation.eval_results.length > 0)
      assert.equal(pairs?.tuned.rows, method.type === 'dpo' ? evaluation.eval_results.length : undefined)
      if (pairs) assert.ok(pairs.tuned.mean >= pairs.base.mean, JSON.stringify(pairs))
    })

  test('a job over a base in 4 bits publishes an ordinary adapter, and tells the loss over the base as it is served', async () => {
    const api = await openAccount()
    const rows = sampleRows.slice(0, 20)
    const id = await api.train({ data: rows, finetune_args: { max_steps: 5, load_in_4bit: true } })
    const { model_name } = await api.untilStatus(id, 'COMPLETED')
    const { events } = await api.get<{ events: { reason: string | null; message: string }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    const { message } = events.find(({ reason }) => reason === 'served_base_differs') ?? assert.fail()
    assert.match(message, /loss is \d\.\d{4} there, and \d\.\d{4} over the base as it is served/)
    const { output } = await api.post<{ output: string }>('/v1/completions', { model_name, prompt: rows[0]?.input })
    assert.equal(typeof output, 'string')
  })

  test('rows of another method fail the job by line, and name the method that takes them', async () => {
    const api = await openAccount()
    const data = [
      { prompt: 'q', chosen: 'a', rejected: 'b' },
      { prompt: 'q', completion: 'a', label: true },
    ]
    const id = await api.train({ data, method: { type: 'dpo' } })
    const { status_message } = await api.untilStatus(id, 'FAILED')
    assert.match(String(status_message), /line 2: chosen: is missing.*dpo.*rows with a label are for kto/)
  })
})

function isNear(seen: number | null | undefined, expected: number, tolerance: number, figure: string) {
  const allowed = tolerance * Math.max(1, Math.abs(expected))
  assert.ok(
    typeof seen === 'number' && Math.abs(seen - expected) <= allowed,
    `${figure}: ${seen}, expected ${expected}`,
  )
}
