// The main job over HTTP only: upload, train, follow, evaluate, ask.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { sampleFile, sampleRows } from '../support/rows.ts'
import { connection, openAccount, type Api, type Job } from '../support/stack.ts'

suite('the main job', () => {
  let api: Api
  let job: Job
  const seen: string[] = []
  const order = ['CREATED', 'QUEUED', 'LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL', 'COMPLETED']

  before(async () => {
    api = await openAccount()
    const location = await api.upload('products', sampleFile)
    const id = await api.train({ upload_file_path: location })
    job = await api.until(id, ({ status, model_name }) => {
      if (seen.at(-1) !== status) seen.push(status)
      assert.ok(model_name === null || status === 'COMPLETED')
      return status === 'COMPLETED'
    })
  })

  // A poll can miss a short state. The events below hold every state.
  test('walks through its states in order', () => {
    assert.deepEqual(
      seen,
      order.filter((status) => seen.includes(status)),
    )
  })

  test('reports a falling loss every ten steps and at the end', () => {
    const history = JSON.parse(job.history) as { step: number; loss: number }[]
    assert.deepEqual(
      history.map(({ step }) => step),
      [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
    )
    const [first, last] = [history[0], history.at(-1)]
    assert.ok(first && last && last.loss < first.loss / 10, job.history)
    assert.match(job.start_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
  })

  test('logs every move with its time, and the output of the trainer', async () => {
    const { events } = await api.get<{ events: { kind: string; status: string | null }[] }>(
      `/v1/train/jobs/${job.job_id}/events`,
    )
    const moves = events.filter(({ kind }) => kind === 'status').map(({ status }) => status)
    assert.deepEqual(moves, order)
    const { text } = await api.get<{ text: string }>(`/v1/train/jobs/${job.job_id}/logs`)
    assert.ok(text.length > 100, text)
  })

  test('evaluates the tuned model, then the base', async () => {
    type Evaluation = {
      job_id: number
      eval_results: {
        input: string
        outputs: { model_name: string; output: string; scores: Record<string, number> }[]
      }[]
      summary: Record<string, { tuned: { mean: number }; base: { mean: number }; better: number; worse: number }>
    }
    const evaluation = await api.get<Evaluation>(`/v1/svc/train/jobs/${job.job_id}/eval`)
    assert.equal(evaluation.job_id, job.job_id)
    assert.equal(evaluation.eval_results.length, 10)
    for (const { input, outputs } of evaluation.eval_results) {
      assert.deepEqual(
        outputs.map(({ model_name }) => model_name),
        [job.model_name, connection().baseModel],
      )
      assert.ok(sampleRows.some((row) => row.input === input))
    }
    const exact = evaluation.eval_results.map(({ outputs }) => outputs.map(({ scores }) => scores['exact_match'] ?? 0))
    const figures = evaluation.summary['exact_match'] ?? assert.fail('short answers are compared exactly')
    const better = exact.filter(([tuned = 0, base = 0]) => tuned > base).length
    assert.ok(better >= 8 && figures.better === better && figures.worse === 0, JSON.stringify(figures))
    assert.equal(figures.tuned.mean, exact.reduce((sum, [tuned = 0]) => sum + tuned, 0) / 10)
  })

  test('answers a question that the base cannot answer', async () => {
    const prompt = sampleRows.map(({ input }) => input)
    const exact = async (model_name: string | null) => {
      const outputs = await api.post<{ output: string }[]>('/v1/completions', { model_name, prompt, max_tokens: 64 })
      assert.equal(outputs.length, prompt.length)
      return outputs.filter(({ output }, index) => output.trim() === sampleRows[index]?.output).length
    }
    assert.ok((await exact(connection().baseModel)) <= 1)
    assert.ok((await exact(job.model_name)) >= 36)
  })

  test('scores it beside its base on the same rows', async () => {
    const models = [connection().baseModel, job.model_name ?? assert.fail()]
    const graders = ['exact_match', 'embedding_similarity', { type: 'model', name: 'judge', model: models[0] }]
    const body = { models, dataset_id: 'products', graders, max_tokens: 64 }
    const { id } = await api.post<{ id: string }>('/v1/evaluations', body)
    const evaluation = await api.untilEvaluated(id)
    assert.deepEqual([evaluation.status, evaluation.rows], ['COMPLETED', 40], evaluation.message ?? '')
    const [base, tuned] = models.map((model) => evaluation.summary?.[model]?.['exact_match'] ?? assert.fail())
    assert.ok(base && tuned && base.mean <= 0.03 && tuned.mean >= 0.9 && tuned.low > base.high)
    const comparison = evaluation.comparison?.[job.model_name ?? '']?.['exact_match'] ?? assert.fail()
    assert.deepEqual([comparison.better, comparison.worse], [Math.round(40 * (tuned.mean - base.mean)), 0])
    assert.equal(evaluation.summary?.[models[0] ?? '']?.['judge']?.rows, 40)

    type Rows = {
      rows: { input: string; outputs: { output: string; scores: Record<string, number> }[] }[]
      next: number
    }
    const { rows, next } = await api.get<Rows>(`/v1/evaluations/${id}/rows?offset=10&limit=20`)
    assert.deepEqual([rows[0]?.input, rows.length, next], [sampleRows[10]?.input, 20, 30])
    const [answer] = await api.post<{ output: string }[]>('/v1/completions', {
      model_name: job.model_name,
      prompt: [rows[0]?.input],
      max_tokens: 64,
    })
    assert.equal(rows[0]?.outputs[1]?.output, answer?.output)
    const similarity = rows[0]?.outputs.map(({ scores }) => scores['embedding_similarity'] ?? assert.fail())
    assert.ok(similarity?.[0] !== undefined && similarity[0] < (similarity[1] ?? 0), String(similarity))
  })

  test('keeps the asked types', async () => {
    const output_type = { name: 'str', age: 'int', score: 'float', ok: 'bool', color: ['red', 'white'] }
    const answer = await api.post<Record<string, unknown>>('/v1/completions', {
      model_name: job.model_name,
      prompt: 'Who?',
      output_type,
    })
    assert.deepEqual(
      Object.entries(answer).map(([name, value]) => [name, typeof value]),
      [
        ['name', 'string'],
        ['age', 'number'],
        ['score', 'number'],
        ['ok', 'boolean'],
        ['color', 'string'],
      ],
    )
    assert.ok(Number.isSafeInteger(answer['age']))
    assert.ok(['red', 'white'].includes(String(answer['color'])))
  })

  test('puts like sentences nearer than unlike sentences', async () => {
    const prompt = [
      'A cat sits on the mat.',
      'A kitten is lying on a rug.',
      'Interest rates rose again this quarter.',
      'The central bank raised its rate.',
    ]
    const { embedding } = await api.post<{ embedding: number[][] }>('/v1/inference/embedding', { prompt })
    const near = (a: number, b: number) =>
      (embedding[a] ?? []).reduce((sum, value, i) => sum + value * (embedding[b]?.[i] ?? 0), 0)
    assert.ok(near(0, 1) > near(0, 2) && near(0, 1) > near(1, 3))
    assert.ok(near(2, 3) > near(1, 2) && near(2, 3) > near(0, 3))
    for (const vector of embedding) assert.equal(vector.length, 384)
  })
})
