// Jobs of reinforcement over HTTP, up to their acceptance.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { connection, openAccount, type Api } from '../../support/stack.ts'

type Refusal = {
  detail: string
  errors?: { path: string; message: string }[]
  error?: { param: string; message: string }
}
type Estimate = { steps: number; samples: number; sampled_tokens: object; judge_calls: number }
type Preview = {
  rows: {
    sequences: { role: string; learned: number; tokens: string[]; trained_spans: unknown[] }[] | null
    error: object | null
  }[]
  totals: { learned: number }
}
type Shown = {
  method: {
    type: string
    reinforcement: { grader: object; response_format?: object; hyperparameters: Record<string, unknown> }
  }
}

const right = {
  ...{ type: 'string_check', name: 'right', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}
const judge = () => ({
  ...{ type: 'score_model', name: 'judge', model: connection().baseModel },
  input: [{ role: 'user', content: 'Is {{sample.output_text}} polite?' }],
})
const method = (grader?: object, hyperparameters: object = {}) => ({
  type: 'reinforcement',
  reinforcement: { grader, hyperparameters },
})
const formOf = (schema: object) => ({ type: 'json_schema', json_schema: { name: 'form', schema, strict: true } })
const rows = Array.from({ length: 16 }, (_, row) => ({ prompt: `Who is ${row}?`, answer: `${row}` }))

const refused = async (api: Api, path: string, body: object): Promise<Refusal> => {
  const { status, body: answer } = await api.request<Refusal>('POST', path, {
    ...{ model_name: connection().baseModel, data: rows },
    ...body,
  })
  assert.equal(status, 400, JSON.stringify(answer))
  return answer
}

async function fileOf(api: Api, lines: readonly object[]): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'fine-tune')
  form.set('file', new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]), 'rows.jsonl')
  return (await api.post<{ id: string }>('/openai/v1/files', form)).id
}

suite('jobs of reinforcement', () => {
  test('need a grader, and rows that have what it reads', async () => {
    const api = await openAccount()
    const { detail } = await refused(api, '/v1/train', { method: method() })
    assert.equal(detail, 'A reinforcement job needs a grader.')
    const lacking = [...rows.slice(0, 2), { prompt: 'Who?' }]
    const { detail: ofItem } = await refused(api, '/v1/train', { data: lacking, method: method(right) })
    assert.equal(ofItem, 'Line 3 of the data: item.answer: is missing; the grader "right" reads it.')
    const late = [...rows, ...rows, { prompt: 'Who?' }]
    const { detail: ofRow } = await refused(api, '/v1/train?dry_run=true', { data: late, method: method(right) })
    assert.match(ofRow, /line 33: item\.answer: is missing; the grader "right" reads it/)
    const unknown = { ...judge(), model: 'nobody' }
    const { status } = await api.request('POST', '/v1/train', {
      ...{ model_name: connection().baseModel, data: rows, method: method(unknown) },
    })
    assert.equal(status, 404)
  })

  test('take several data sets, each with what the graders read', async () => {
    const api = await openAccount()
    const keep = (dataset_id: string, data: readonly object[]) =>
      api.post('/v1/local-data', { upload_base_path: 's3', dataset_id, data })
    await keep('a', rows)
    await keep('b', [...rows.slice(0, 4), { prompt: 'Who?' }])
    await keep('c', rows.slice(0, 8))
    const listed = (...names: string[]) => ({
      ...{ data: undefined, method: method(right, { n_epochs: 1, batch_size: 4 }) },
      datasets: names.map((dataset_id) => ({ dataset_id })),
    })
    const { detail, errors } = await refused(api, '/v1/train', listed('a', 'b'))
    assert.equal(detail, 'Line 5 of "b": item.answer: is missing; the grader "right" reads it.')
    assert.equal(errors?.[0]?.path, 'method.reinforcement.grader')
    const { detail: dry } = await refused(api, '/v1/train?dry_run=true', listed('a', 'b'))
    assert.match(dry, /b, line 5: item\.answer: is missing; the grader "right" reads it/)
    const asked = { model_name: connection().baseModel, ...listed('a', 'c') }
    const { steps, samples } = await api.post<Estimate>('/v1/train?dry_run=true', asked)
    assert.deepEqual([steps, samples], [6, 192])
  })

  test('a preview shows each prompt as tokens, and nothing that is learned', async () => {
    const api = await openAccount()
    const { rows: shown, totals } = await api.post<Preview>('/v1/train?preview=true', {
      ...{ model_name: connection().baseModel, method: method(right) },
      data: [...rows, { prompt: 'Who?' }],
    })
    assert.deepEqual(shown[16]?.error, { field: 'item.answer', reason: 'is missing; the grader "right" reads it' })
    for (const { error, sequences } of shown.slice(0, 16)) {
      assert.equal(error, null)
      const [prompt, ...others] = sequences ?? assert.fail()
      assert.deepEqual([prompt?.role, prompt?.learned, prompt?.trained_spans, others], ['prompt', 0, [], []])
    }
    assert.match(shown[3]?.sequences?.[0]?.tokens.join('') ?? '', /Who is 3\?/)
    assert.equal(totals.learned, 0)
  })

  test('a form of answers is refused as serving refuses it, and shown by the job', async () => {
    const api = await openAccount()
    const at = 'method.reinforcement.response_format'
    const asked = (schema: object, hyperparameters: object = {}) => ({
      type: 'reinforcement',
      reinforcement: { grader: right, hyperparameters, response_format: formOf(schema) },
    })
    const properties = { name: { type: 'string', uniqueItems: true } }
    for (const path of ['/v1/train?dry_run=true', '/v1/train']) {
      const { errors } = await refused(api, path, { method: asked({ type: 'object', properties }) })
      assert.equal(errors?.[0]?.path, `${at}.json_schema.schema#/properties/name/uniqueItems`)
    }
    const colour = { type: 'object', properties: { colour: { enum: ['red', 'green'] } }, required: ['colour'] }
    const { errors } = await refused(api, '/v1/train', { method: asked(colour, { max_completion_tokens: 2 }) })
    assert.equal(errors?.[0]?.path, 'method.reinforcement.hyperparameters.max_completion_tokens')
    const training_file = await fileOf(api, rows)
    const shown = await api.post<Shown>('/openai/v1/fine_tuning/jobs', {
      ...{ model: connection().baseModel, training_file, method: asked(colour) },
    })
    const { grader, response_format, ...others } = shown.method.reinforcement
    assert.deepEqual([grader, response_format, Object.keys(others)], [right, formOf(colour), ['hyperparameters']])
  })

  test('a dry run counts the answers, their tokens and what is judged', async () => {
    const api = await openAccount()
    const grader = {
      type: 'multi',
      name: 'both',
      calculate_output: 'right + judge',
      graders: { right, judge: judge() },
    }
    const hyperparameters = { n_epochs: 1, batch_size: 4, samples_per_prompt: 8, max_completion_tokens: 100 }
    const estimate = await api.post<Estimate>('/v1/train?dry_run=true', {
      ...{ model_name: connection().baseModel, data: rows, method: method(grader, hyperparameters) },
    })
    assert.deepEqual([estimate.steps, estimate.samples, estimate.judge_calls], [4, 128, 128])
    assert.deepEqual(estimate.sampled_tokens, { likely: 3200, most: 12_800 })
  })

  test('show their method resolved, in both APIs', async () => {
    const api = await openAccount()
    const training_file = await fileOf(api, rows)
    const { id, ...shown } = await api.post<Shown & { id: string }>('/openai/v1/fine_tuning/jobs', {
      ...{ model: connection().baseModel, training_file },
      method: method(right, { compute_multiplier: 2, eval_interval: 5, n_epochs: 'auto' }),
    })
    const job = await api.get<Shown & { method: { defaulted: string[] } }>(`/v1/train/jobs/${id.replace('ftjob-', '')}`)
    await api.post(`/openai/v1/fine_tuning/jobs/${id}/cancel`)
    for (const { method } of [shown, job])
      assert.partialDeepStrictEqual(method, {
        type: 'reinforcement',
        reinforcement: {
          grader: right,
          hyperparameters: {
            ...{ batch_size: 8, learning_rate_multiplier: 1, compute_multiplier: 2, eval_interval: 5, eval_samples: 1 },
            ...{ samples_per_prompt: 8, loss_type: 'dapo', reasoning_effort: 'default' },
          },
        },
      })
    assert.ok(job.method.defaulted.includes('samples_per_prompt'))
    assert.ok(!job.method.defaulted.includes('compute_multiplier'))
  })

  test('rows that end in an answer fail the job by line', async () => {
    const api = await openAccount()
    const said = {
      messages: [
        { role: 'user', content: 'Who?' },
        { role: 'assistant', content: 'Me.' },
      ],
      answer: 'Me.',
    }
    const id = await api.train({ data: [...rows.slice(0, 2), said], method: method(right) })
    const { status_reason, status_message } = await api.untilStatus(id, 'FAILED')
    assert.equal(status_reason, 'data_error')
    assert.match(String(status_message), /line 3: messages: the last message is not of the user/)
  })
})
