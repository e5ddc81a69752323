// What cannot be trained ends before anything runs; what is wrong with a request is said in a sentence.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pidOf } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Problem = { detail: string; code: string; status: number }

suite('bad input', async () => {
  const api = await openAccount()
  const refused = async (body: Record<string, unknown>) => {
    const { status, body: problem } = await api.request<Problem>('POST', '/v1/train', {
      model_name: connection().baseModel,
      ...body,
    })
    return { status, detail: problem.detail }
  }

  test('an unreadable data set fails with its line numbers before any process starts', async () => {
    const file = '{"input":"a","output":"b"}\n{"input":"a"}\nnot json\n{"input":1,"output":"b"}\n'
    const id = await api.train({ upload_file_path: await api.upload('bad-rows', file) })
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'data_error')
    assert.match(
      job.status_message ?? '',
      /3 of 4 rows are bad: line 2: output: is missing; line 3: row: is not valid JSON; line 4: input: is a number/,
    )
    assert.equal(pidOf(`ft-${id}-a1`), null)
    const { attempts } = await api.get<{ attempts: unknown[] }>(`/v1/train/jobs/${id}/attempts`)
    assert.deepEqual(attempts, [])
  })

  test('rows inside the request are checked like those of a file: the job fails with their line numbers', async () => {
    const id = await api.train({ data: [{ input: 'a', output: 'b' }, {}, { input: 'a', output: '' }] })
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'data_error')
    assert.match(job.status_message ?? '', /2 of 3 rows are bad: line 2: input: is missing; line 3: output: is empty/)
    const report = await api.get<{ bad_rows: number; errors: { line: number }[] }>(`/v1/data/${job.dataset_id}`)
    assert.deepEqual([report.bad_rows, report.errors.map(({ line }) => line)], [2, [2, 3]])
  })

  test('an empty file fails, too', async () => {
    const id = await api.train({ upload_file_path: await api.upload('empty', '\n') })
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    assert.match(job.status_message ?? '', /no rows/)
  })

  test('a missing upload, a foreign place and an unknown model are refused at once', async () => {
    const { dataset_location } = await api.post<{ dataset_location: string }>('/v1/data', {
      dataset_id: 'never-uploaded',
    })
    assert.match((await refused({ upload_file_path: dataset_location })).detail, /Nothing was uploaded/)
    for (const upload_file_path of ['file:///etc/passwd', 'http://169.254.169.254/latest', 's3://other/x', '../x'])
      assert.equal((await refused({ upload_file_path })).status, 400, upload_file_path)
    const unknown = await refused({ model_name: 'no-such-model', data: sampleRows })
    assert.equal(unknown.status, 404)
    assert.match(unknown.detail, /no-such-model/)
    assert.equal((await refused({ data: [] })).status, 400)
    assert.equal((await refused({})).status, 400)
    assert.equal((await refused({ data: sampleRows, gpu_config: { gpus: 1000 } })).status, 400)
  })

  test('nothing of another account can be seen or moved', async () => {
    const location = await api.upload('mine', '{"input":"a","output":"b"}\n')
    const id = await api.train({ upload_file_path: location, finetune_args: { max_steps: 1 } })
    const other = await openAccount()
    for (const [method, path] of [
      ['GET', `/v1/train/jobs/${id}`],
      ['POST', `/v1/train/jobs/${id}/cancel`],
      ['POST', `/v1/train/jobs/${id}/resume`],
      ['GET', `/v1/train/jobs/${id}/logs`],
      ['GET', `/v1/train/jobs/${id}/events`],
      ['GET', `/v1/svc/train/jobs/${id}/eval`],
    ] as const)
      assert.equal((await other.request(method, path)).status, 404, `${method} ${path}`)
    assert.deepEqual(await other.get('/v1/train/jobs'), [])
    const stolen = await other.request<Problem>('POST', '/v1/train', {
      model_name: connection().baseModel,
      upload_file_path: location,
    })
    assert.equal(stolen.status, 400)
    await api.untilStatus(id, 'COMPLETED')
    const { model_name } = await api.job(id)
    assert.equal((await other.request('POST', '/v1/completions', { model_name, prompt: 'x' })).status, 404)
  })

  test('one Idempotency-Key is one job, however often and how closely it is sent', async () => {
    const body = { model_name: connection().baseModel, data: sampleRows, finetune_args: { max_steps: 1 } }
    const send = (more = {}) =>
      api.request<{ job_id: string }>('POST', '/v1/train', { ...body, ...more }, { 'idempotency-key': 'one' })
    const answers = await Promise.all([send(), send(), send(), send(), send()])
    assert.deepEqual([...new Set(answers.map(({ status, body: { job_id } }) => `${status} ${job_id}`))].length, 1)
    assert.equal(answers[0]?.status, 200)
    assert.equal((await send({ custom_model_name: 'other' })).status, 422)
    const id = Number(answers[0]?.body.job_id)
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.untilStatus(id, 'CANCELLED')
  })
})
