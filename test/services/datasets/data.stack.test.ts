// Data sets on the real stores: in by URL and by request, checked, found, deleted, swept.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { removeOrphanedObjects } from '../../../activities/orphaned-objects.ts'
import { removeAbandonedUploads } from '../../../activities/abandoned-uploads.ts'
import { createStorage } from '../../../src/storage/storage.ts'
import { sampleRows } from '../../support/rows.ts'
import { connection, openAccount } from '../../support/stack.ts'
import { eventually } from '../../support/eventually.ts'
import { openDatabase } from '../../support/sandbox.ts'

type Located = { dataset_id: string; dataset_location: string; upload_base_path?: string }
type Report = {
  state: string
  version: number
  rows: number
  bytes: number
  bad_rows: number
  errors: { line: number; field: string; reason: string }[]
  error_groups: { field: string; reason: string; rows: number; lines: number[] }[]
  unread_fields: { field: string; rows: number; line: number }[]
  duplicates: number
  empty_outputs: number
  announced_rows: number | null
  input_length: Record<'p50' | 'p90' | 'p99' | 'max', number>
  token_length: { tokenizer: string; sampled_rows: number; input: { p50: number; max: number } } | null
}
type Problem = { detail: string; code: string }

suite('data', async () => {
  const api = await openAccount()
  const other = await openAccount()
  const database = openDatabase()
  const { endpoint, bucket, accessKey, secretKey } = connection().s3
  const storage = createStorage({ endpoint, region: 'us-east-1', bucket, accessKey, secretKey })
  const report = (id: string) => api.get<Report>(`/v1/data/${id}`)
  const keyOf = (location: string) => location.slice(storage.urlPrefix.length).split('?')[0] ?? ''
  const rows = (count: number, text = 'x') =>
    Array.from({ length: count }, (_, row) => ({ input: `question ${row} ${text}`, output: `answer ${row}` }))

  test('are listed page by page with their rows, tokens, versions and jobs, and shown row by row', async () => {
    type List = { datasets: Record<string, unknown>[]; next: string | null }
    const lister = await openAccount()
    const good = { input: 'Who?', output: 'Me.' }
    await lister.upload(
      'a-set',
      [good, { input: 'Who?' }, { prompt: 'Why?', completion: 'So.' }].map((row) => JSON.stringify(row)).join('\n'),
    )
    await lister.post('/v1/local-data', { dataset_id: 'b-set', data: [good] })
    const id = await lister.train({ dataset_id: 'b-set', eval_data: [good], finetune_args: { max_steps: 1 } })
    await lister.post(`/v1/train/jobs/${id}/cancel`)
    const evaluated = (await lister.get<List>('/v1/data')).datasets.find((each) =>
      /^[0-9a-f]{32}$/.test(String(each['dataset_id'])),
    )
    assert.deepEqual(evaluated?.['job_ids'], [id], 'the rows to evaluate on are a data set of their own')
    await lister.request('DELETE', `/v1/data/${String(evaluated?.['dataset_id'])}`)
    await lister.post('/v1/local-data', { dataset_id: 'b-set', data: [good, good] })
    await lister.get('/v1/data/a-set')
    const first = await lister.get<List>('/v1/data?limit=1')
    const { created_at: _at, bytes: _bytes, tokens, ...listed } = first.datasets[0] ?? {}
    assert.ok(Number(tokens) >= 2)
    assert.deepEqual(listed, {
      dataset_id: 'a-set',
      display_name: 'a-set',
      file_name: null,
      version: 1,
      versions: 1,
      state: 'invalid',
      rows: 3,
      bad_rows: 1,
      job_ids: [],
    })
    const second = await lister.get<List>(`/v1/data?limit=1&after=${first.next}`)
    const { dataset_id: next, version, versions, state, job_ids: jobs } = second.datasets[0] ?? {}
    assert.deepEqual([next, version, versions, state, jobs], ['b-set', 2, 2, 'unchecked', [id]])
    assert.deepEqual((await lister.get<List>('/v1/data?after=b-set')).datasets, [])

    type Rows = {
      version: number
      rows: { line: number; input: string | null; error: { reason: string } | null }[]
      next: number | null
    }
    const shown = await lister.get<Rows>('/v1/data/a-set/rows?offset=1')
    assert.deepEqual(
      shown.rows.map(({ line, input, error }) => [line, input, error?.reason ?? null]),
      [
        [2, null, 'is missing'],
        [3, 'Why?', null],
      ],
    )
    assert.equal((await other.request('GET', '/v1/data/a-set/rows')).status, 404)
  })

  test('rows to evaluate on may be another data set, which has to be there', async () => {
    await api.upload('held-out', 'input,output\nWho?,Me.\n')
    const train = { model_name: connection().baseModel, data: rows(3), finetune_args: { max_steps: 1 } }
    const body = { ...train, eval_dataset_id: 'held-out', dry_run: true }
    assert.equal((await api.post<{ steps: number }>('/v1/train', body)).steps, 1)
    for (const [more, says] of [
      [{ eval_dataset_id: 'nowhere' }, /There is no data set "nowhere"/],
      [{ eval_dataset_id: 'held-out', eval_data: rows(1) }, /not both/],
    ] as const) {
      const { status, body: problem } = await api.request<Problem & { errors: { path: string }[] }>(
        'POST',
        '/v1/train',
        { ...train, ...more },
      )
      assert.deepEqual([status, problem.errors[0]?.path], [400, 'eval_dataset_id'])
      assert.match(problem.detail, says)
    }
  })

  test('rows sent in one request become a data set that can be found, checked and trained on', async () => {
    const stored = await api.post<Located>('/v1/local-data', {
      upload_base_path: 's3',
      data: [...sampleRows, sampleRows[0]],
      is_public: false,
    })
    assert.match(stored.dataset_id, /^[0-9a-f]{32}$/)
    const found = await api.post<Located>('/v1/existing-data', {
      dataset_id: stored.dataset_id,
      upload_base_path: 's3',
    })
    assert.deepEqual(found, { ...stored, upload_base_path: 's3' })
    await api.post('/v1/data/num-datapoints', { dataset_id: stored.dataset_id, num_datapoints: 41 })
    const checked = await report(stored.dataset_id)
    assert.deepEqual(
      [checked.state, checked.rows, checked.duplicates, checked.bad_rows, checked.announced_rows],
      ['valid', 41, 1, 0, 41],
    )
    const longest = Math.max(...sampleRows.map(({ input }) => input.length))
    assert.equal(checked.input_length.max, longest)
    assert.deepEqual(
      [checked.token_length?.tokenizer, checked.token_length?.sampled_rows],
      [connection().baseModel, 41],
    )
    assert.ok((checked.token_length?.input.max ?? 0) > 1 && (checked.token_length?.input.max ?? 0) < longest)
    const id = await api.train({
      dataset_id: stored.dataset_id,
      upload_file_path: stored.dataset_location,
      finetune_args: { max_steps: 1 },
    })
    await api.post(`/v1/train/jobs/${id}/cancel`)
  })

  test('many parts make one object, and a new version when the id is used again', async () => {
    const datasetId = `large-${randomUUID()}`
    const data = rows(20_000, 'x'.repeat(1000))
    await api.post<Located>('/v1/local-data', { upload_base_path: 's3', dataset_id: datasetId, data })
    const first = await report(datasetId)
    assert.deepEqual([first.rows, first.version, first.bad_rows, first.duplicates], [20_000, 1, 0, 0])
    assert.ok(first.bytes > 20_000_000)
    await api.post<Located>('/v1/local-data', { dataset_id: datasetId, data: data.slice(0, 3) })
    const second = await report(datasetId)
    assert.deepEqual([second.rows, second.version], [3, 2])
  })

  test('rows to evaluate on are streamed like the others, wherever they stand in the body', async () => {
    const evalRows = rows(5000, 'e'.repeat(1000))
    const data = rows(20)
    const train = { model_name: connection().baseModel, finetune_args: { max_steps: 1 } }
    for (const body of [
      { eval_data: evalRows, ...train, data },
      { data, ...train, eval_data: evalRows },
    ]) {
      const before = await leftovers()
      const { job_id } = await api.post<{ job_id: string }>('/v1/train', body)
      const job = await database.trainingJobs.get(Number(job_id))
      const key = job.spec.evaluationKey ?? ''
      assert.notEqual(key, job.spec.dataKey)
      assert.ok(((await storage.stat(key))?.sizeBytes ?? 0) > 5_000_000)
      await eventually(async () => (await database.trainingJobs.get(job.id)).preparedData !== null)
      const { preparedData } = await database.trainingJobs.get(job.id)
      assert.deepEqual(
        [preparedData?.train.rowCount, preparedData?.evaluation.rowCount, preparedData?.evaluation.split],
        [20, 5000, 'held_out'],
      )
      assert.equal(await leftovers(), before)
      await api.post(`/v1/train/jobs/${job_id}/cancel`)
    }
    const before = await leftovers()
    assert.equal(
      await statusOf('/v1/train', JSON.stringify({ ...train, data, eval_data: evalRows, model_name: 'none' })),
      404,
    )
    assert.equal(await statusOf('/v1/train', JSON.stringify({ ...train, data, eval_data: [...evalRows, 5] })), 400)
    await eventually(async () => (await leftovers()) === before)
  })

  test('a body that breaks off, or ends badly, leaves neither object, parts nor row', async () => {
    const datasetId = `broken-${randomUUID()}`
    const before = await leftovers()
    const text = JSON.stringify({ dataset_id: datasetId, data: rows(12_000, 'y'.repeat(1000)) })
    await breakOff('/v1/local-data', text.slice(0, -50_000))
    for (const end of ['{"input":', '{"input": 1} 7]}', '5]}']) {
      assert.equal(await statusOf('/v1/local-data', `${text.slice(0, -2)},${end}`), 400)
    }
    await eventually(async () => (await leftovers()) === before)
    assert.equal((await api.request('GET', `/v1/data/${datasetId}`)).status, 404)
  })

  test('refuses a malformed data set in a sentence', async () => {
    for (const [body, detail] of [
      [{ data: [] }, /at least one row/],
      [{}, /at least one row/],
      [{ data: [{ input: 'a' }, 5] }, /data\[1\] must be an object/],
      [{ data: [{ input: 'a', output: 'b' }], dataset_id: '../x' }, /dataset_id must be/],
      [{ data: 'x' }, /data must be a list/],
    ] as const) {
      const { status, body: problem } = await api.request<Problem>('POST', '/v1/local-data', body)
      assert.equal(status, 400)
      assert.match(problem.detail, detail)
    }
  })

  test('the check names every bad row up to a hundred, with line, field and reason', async () => {
    const lines = rows(400).map((row, index) =>
      index % 3 === 1 ? '{"input":"a"}' : index === 6 ? 'no json' : JSON.stringify(row),
    )
    await api.upload('checked', lines.join('\r\n'))
    const checked = await report('checked')
    assert.deepEqual([checked.state, checked.rows, checked.bad_rows, checked.errors.length], ['invalid', 400, 134, 100])
    assert.deepEqual(checked.errors.slice(0, 3), [
      { line: 2, field: 'output', reason: 'is missing' },
      { line: 5, field: 'output', reason: 'is missing' },
      { line: 7, field: 'row', reason: 'is not valid JSON' },
    ])
    // Other bytes under the same URL are checked again.
    await api.upload('checked', gzipSync('input,output\n"a\nb",c\n"d",""\n'))
    const again = await report('checked')
    assert.deepEqual([again.rows, again.bad_rows, again.empty_outputs], [2, 1, 1])
    assert.deepEqual(again.errors, [{ line: 4, field: 'output', reason: 'is empty' }])
  })

  test('a job that fails for its data leaves all of the bad rows in the report', async () => {
    const file = Array.from({ length: 30 }, () => '{"output":"b"}').join('\n')
    const id = await api.train({ upload_file_path: await api.upload('bad', file) })
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'data_error')
    assert.match(job.status_message ?? '', /30 of 30 rows are bad: line 1: input: is missing \(30 rows\)\.$/)
    const found = await report('bad')
    assert.equal(found.errors.length, 30)
    assert.deepEqual(found.error_groups, [{ field: 'input', reason: 'is missing', rows: 30, lines: [1, 2, 3, 4, 5] }])
    // No program was started.
    assert.deepEqual(await api.get(`/v1/train/jobs/${id}/attempts`), { attempts: [], next: null })
    const empty = await api.train({ upload_file_path: await api.upload('empty', '\n') })
    const ended = await api.until(empty, ({ status }) => status === 'FAILED')
    assert.match(ended.status_message ?? '', /has no rows/)
  })

  test('a job and its data set name the fields that training does not read', async () => {
    const file = rows(30).map((row) => JSON.stringify({ ...row, system: 'Be brief.', category: 'x' }))
    const id = await api.train({
      upload_file_path: await api.upload('unread', file.join('\n')),
      finetune_args: { max_steps: 1 },
    })
    await eventually(async () => (await database.trainingJobs.get(id)).preparedData !== null)
    const { events } = await api.get<{ events: { reason: string | null; message: string | null }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    const notes = events.filter(({ reason }) => reason === 'fields_not_read')
    assert.match(notes.map(({ message }) => message).join(), /read: "category" \(30 rows, first in line 1\)\./)
    assert.deepEqual((await report('unread')).unread_fields, [{ field: 'category', rows: 30, line: 1 }])
    await api.post(`/v1/train/jobs/${id}/cancel`)
  })

  test('a bomb is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024, 0x20))
    await api.upload('bomb', bomb)
    const { errors } = await report('bomb')
    assert.match(errors[0]?.reason ?? '', /unpacks to more than 200 times|white space/)
  })

  test('the same Idempotency-Key makes a single data set, and refuses another body', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { data: rows(50) }
    const send = (sent: unknown) => api.request<Located>('POST', '/v1/local-data', sent, headers)
    const answers = await Promise.all([send(body), send(body), send(body)])
    assert.equal(new Set(answers.map(({ status, body: { dataset_id } }) => `${status} ${dataset_id}`)).size, 1)
    assert.equal(answers[0]?.status, 200)
    assert.equal((await send({ data: rows(51) })).status, 422)
    const place = { 'idempotency-key': randomUUID() }
    const first = await api.request<Located>('POST', '/v1/data', { dataset_id: 'once' }, place)
    const second = await api.request<Located>('POST', '/v1/data', { dataset_id: 'once' }, place)
    assert.equal(keyOf(first.body.dataset_location).split('?')[0], keyOf(second.body.dataset_location).split('?')[0])
    assert.equal((await api.request('POST', '/v1/data', { dataset_id: 'twice' }, place)).status, 422)
  })

  test("refuses to train on another account's upload, and answers a malformed id as missing", async () => {
    const { dataset_location } = await api.post<Located>('/v1/local-data', { data: rows(3) })
    const model_name = connection().baseModel
    for (const upload_file_path of [dataset_location, keyOf(dataset_location)])
      assert.equal((await other.request('POST', '/v1/train', { model_name, upload_file_path })).status, 400)
    for (const id of ['%00', 'deleted:x', '..', `deleted:${randomUUID()}`])
      assert.equal((await api.request('GET', `/v1/data/${id}`)).status, 404)
  })

  test('a deleted data set is gone with its objects, while its job keeps its own copy', async () => {
    const { dataset_id, dataset_location } = await api.post<Located>('/v1/local-data', { data: sampleRows })
    const id = await api.train({ dataset_id, finetune_args: { max_steps: 1 } })
    await eventually(async () => (await api.request('DELETE', `/v1/data/${dataset_id}`)).status === 200)
    assert.equal(await storage.stat(keyOf(dataset_location)), null)
    assert.equal((await api.request('GET', `/v1/data/${dataset_id}`)).status, 404)
    assert.equal((await api.request('DELETE', `/v1/data/${dataset_id}`)).status, 404)
    assert.equal(
      (await api.request('POST', '/v1/train', { model_name: connection().baseModel, dataset_id })).status,
      400,
    )
    await api.untilStatus(id, 'COMPLETED')
    assert.equal((await api.job(id)).dataset_id, dataset_id)
  })

  test('sweeps abandoned uploads, and keeps used or known files', async () => {
    await api.upload('abandoned', 'x')
    const { dataset_id } = await api.post<Located>('/v1/local-data', { data: rows(2) })
    await api.upload('looked-at', '{"input":"a","output":"b"}')
    await report('looked-at')
    await removeAbandonedUploads({ database, storage }, { olderThanMs: 0 })
    assert.equal((await api.request('GET', '/v1/data/abandoned')).status, 404)
    assert.equal((await report(dataset_id)).rows, 2)
    assert.equal((await report('looked-at')).rows, 1)
    assert.equal(await removeAbandonedUploads({ database, storage }, { olderThanMs: 0 }), 0)
  })

  test('sweeps files written by a URL whose data set is gone, and keeps files with a row', async () => {
    const location = await api.upload('outlived', 'x')
    await api.request('DELETE', '/v1/data/outlived')
    assert.equal((await fetch(location, { method: 'PUT', body: 'late' })).status, 200)
    const late = [keyOf(location), `inline/${randomUUID()}/${randomUUID()}/rows.jsonl`, 'jobs/999999999/logs/1.log']
    for (const key of late.slice(1)) await storage.write(key, Buffer.from('late'))
    const { dataset_location } = await api.post<Located>('/v1/local-data', { data: rows(2) })
    const known = [keyOf(await api.upload('kept', '{"input":"a","output":"b"}')), keyOf(dataset_location)]
    const sweep = (olderThanMs: number) => removeOrphanedObjects({ database, storage }, { olderThanMs, maxShare: 1 })
    assert.equal(await sweep(24 * 3_600_000), 0)
    await sweep(0)
    for (const key of late) assert.equal(await storage.stat(key), null, key)
    for (const key of known) assert.ok(await storage.stat(key), key)
  })

  /** Versions without a size are those that are being received, or were left behind. */
  async function leftovers() {
    return (await database.datasets.abandoned(new Date(Date.now() + 60_000), 1000)).length
  }

  /** Bytes as they are. */
  async function statusOf(path: string, text: string): Promise<number> {
    const response = await fetch(connection().apiUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.apiKey}`, 'content-type': 'application/json' },
      body: text,
    })
    await response.text()
    return response.status
  }

  /** Sends a part of what was declared and hangs up. */
  function breakOff(path: string, text: string) {
    const url = new URL(connection().apiUrl + path)
    return new Promise<void>((resolve) => {
      const outgoing = request(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${api.apiKey}`,
          'content-type': 'application/json',
          'content-length': String(text.length + 1000),
        },
      })
      outgoing.on('error', () => resolve())
      outgoing.write(text, () => outgoing.destroy())
    })
  }
})
