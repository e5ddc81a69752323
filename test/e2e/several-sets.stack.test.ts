// A job over several data sets, from the request to its series.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openAccount } from '../support/stack.ts'

type Metric = { step: number; valid_loss: number | null; series?: Record<string, number> }
type Sets = { dataset_id: string; weight: number; rows: number; train_rows: number; held_out_rows: number }[]
type Shown = {
  datasets: Sets
  dataset: { rows: number; counted: { rows: number; learned: number; complete: boolean } }
}
type Refusal = { detail: string; errors?: { path: string }[] }

const rowsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, row) => ({ input: `${name} ${row}?`, output: `It is ${row % 7}.` }))

suite('a job over several data sets', () => {
  test('mixes them by weight, validates on each, and shows each with its rows', async () => {
    const api = await openAccount()
    for (const [dataset_id, count] of [
      ['a', 160],
      ['b', 80],
    ] as const)
      await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id, data: rowsOf(dataset_id, count) })
    const datasets = [{ dataset_id: 'a', weight: 3 }, { dataset_id: 'b' }]
    const finetune_args = {
      max_steps: 20,
      eval_steps: 10,
      batch_size: 4,
      gradient_accumulation_steps: 1,
      save_steps: 5,
    }
    const body = { model_name: 'anneal-tiny', datasets, finetune_args }
    const dry = await api.post<Record<string, unknown>>('/v1/train', { ...body, dry_run: true })
    assert.deepEqual([dry['rows'], dry['steps']], [240, 20])
    const preview = await api.post<{ rows: { dataset_id: string; line: number }[]; totals: { complete: boolean } }>(
      '/v1/train',
      { ...body, preview: true },
    )
    assert.deepEqual(
      preview.rows.slice(0, 3).map(({ dataset_id, line }) => [dataset_id, line]),
      [
        ['a', 1],
        ['b', 1],
        ['a', 2],
      ],
    )
    const id = await api.train(body)
    const job = (await api.untilStatus(id, 'COMPLETED')) as unknown as Shown
    assert.deepEqual(job.datasets, [
      { dataset_id: 'a', weight: 3, rows: 160, train_rows: 152, held_out_rows: 8 },
      { dataset_id: 'b', weight: 1, rows: 80, train_rows: 76, held_out_rows: 4 },
    ])
    assert.equal(job.dataset.rows, 240)
    const { rows, learned, complete } = job.dataset.counted
    // The run visits 60 rows of a, and 20 of b.
    assert.deepEqual([rows, complete, learned > rows], [80, false, true])
    const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
    const last = metrics.at(-1) ?? assert.fail()
    assert.deepEqual([last.step, last.series?.['epoch/a'], last.series?.['epoch/b']], [20, 60 / 152, 20 / 76])
    const [a = NaN, b = NaN] = ['a', 'b'].map((name) => last.series?.[`valid_loss/${name}`])
    assert.ok(Math.abs((last.valid_loss ?? NaN) - (3 * a + b) / 4) < 1e-6, JSON.stringify(last))

    const shown = await api.get<{ training_file: string; datasets: object }>(`/openai/v1/fine_tuning/jobs/ftjob-${id}`)
    assert.deepEqual([shown.training_file, shown.datasets], ['a', [datasets[0], { dataset_id: 'b', weight: 1 }]])
    const { datasets: listed } = await api.get<{ datasets: { dataset_id: string; job_ids: number[] }[] }>('/v1/data')
    assert.deepEqual(
      listed.map(({ dataset_id, job_ids }) => [dataset_id, job_ids]),
      [
        ['a', [id]],
        ['b', [id]],
      ],
    )
    // A job on one of the sets alone does not get the rows that were prepared for both.
    const alone = await api.train({ dataset_id: 'a', finetune_args: { ...finetune_args, max_steps: 1 } })
    const one = (await api.untilStatus(alone, 'COMPLETED')) as unknown as { datasets?: Sets; dataset: { rows: number } }
    assert.deepEqual([one.datasets, one.dataset.rows], [undefined, 160])
  })

  test('rewards the answers to the prompts of each, and tells the held-out reward of each', async () => {
    const api = await openAccount()
    for (const dataset_id of ['a', 'b']) {
      const data = rowsOf(dataset_id, 120).map(({ input, output }) => ({ prompt: input, answer: output }))
      await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id, data })
    }
    const grader = {
      ...{ type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match' },
      ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
    }
    const hyperparameters = { batch_size: 4, samples_per_prompt: 2, max_completion_tokens: 8, eval_interval: 2 }
    const id = await api.train({
      datasets: [{ dataset_id: 'a', weight: 3 }, { dataset_id: 'b' }],
      finetune_args: { max_steps: 2 },
      method: { type: 'reinforcement', reinforcement: { grader, hyperparameters } },
    })
    await api.untilStatus(id, 'COMPLETED')
    const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
    const { series = {} } = metrics.at(-1) ?? assert.fail()
    const [all = NaN, a = NaN, b = NaN] = ['', '/a', '/b'].map((set) => series[`valid_reward${set}`])
    assert.ok(a > 0 && b > 0 && Math.abs(all - (3 * a + b) / 4) < 1e-6, JSON.stringify(series))
    assert.deepEqual([series['epoch/a'], series['epoch/b']], [6 / 114, 2 / 114])
  })

  test('refuses a list that names no data sets of its own, and names the set and line of a bad row', async () => {
    const api = await openAccount()
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'a', data: rowsOf('a', 4) })
    const bad = [...rowsOf('b', 2), { input: 'x', output: '' }]
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'b', data: bad })
    const [a, b] = [
      { dataset_id: 'a', weight: 1 },
      { dataset_id: 'b', weight: 1 },
    ]
    const refused: [path: string, sentence: RegExp, body: object][] = [
      ['datasets', /Send datasets or dataset_id, not both/, { datasets: [a, b], dataset_id: 'a' }],
      ['datasets', /Send datasets or data, not both/, { datasets: [a, b], data: rowsOf('c', 2) }],
      ['datasets[1].dataset_id', /listed twice/, { datasets: [a, a] }],
      ['datasets[1].dataset_id', /no data set "none"/, { datasets: [a, { dataset_id: 'none' }] }],
      ['datasets[0].weight', /./, { datasets: [{ dataset_id: 'a', weight: 0 }, b] }],
      ['datasets[0].weight', /./, { datasets: [{ dataset_id: 'a', weight: '1e999' }, b] }],
      ['datasets', /16/, { datasets: Array.from({ length: 17 }, (_, at) => ({ dataset_id: `s${at}` })) }],
      ['datasets', /b, line 3: output: is empty/, { datasets: [a, b], dry_run: true }],
    ]
    for (const [path, sentence, body] of refused) {
      const { status, body: answer } = await api.request<Refusal>('POST', '/v1/train', {
        model_name: 'anneal-tiny',
        ...body,
      })
      assert.deepEqual([status, answer.errors?.[0]?.path], [400, path], JSON.stringify(answer))
      assert.match(answer.detail, sentence)
    }
    const id = await api.train({ datasets: [a, b] })
    const { status_message } = await api.untilStatus(id, 'FAILED')
    assert.match(String(status_message), /b, line 3: output: is empty/)
  })

  test('names the line of its own file for a row that is too long', async () => {
    const api = await openAccount()
    const long = { input: 'word '.repeat(200), output: 'yes' }
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'a', data: rowsOf('a', 4) })
    const data = [rowsOf('b', 1)[0], { input: 'x', output: '' }, long]
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'b', data })
    const id = await api.train({
      datasets: [{ dataset_id: 'a' }, { dataset_id: 'b' }],
      skip_bad_rows: true,
      finetune_args: { overlong: 'refuse', max_length: 64, max_steps: 2 },
    })
    const { status_message } = await api.untilStatus(id, 'FAILED')
    assert.match(String(status_message), /1 rows are longer than 64 tokens \(b, line 3\)/)
  })
})
