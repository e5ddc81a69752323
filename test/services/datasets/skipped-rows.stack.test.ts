// A sheet as people have it, with semicolons, names of its own and two broken rows: uploaded, looked at, trained on.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { connection, openAccount } from '../../support/stack.ts'

const sheet = [
  'Nr;Frage;Antwort, kurz',
  ...Array.from({ length: 12 }, (_, at) => `${at + 1};Wo ist Regal ${at}?;"In Halle ""${at}""."`),
  '13;Wo ist Regal 13?;',
  '14;Wo ist Regal 14?;In Halle "14".',
].join('\r\n')

type Preview = { separator: string; proposed_columns: { input: string; output: string; rows: object[] } | null }
type Report = { state: string; bad_rows: number; skippable: boolean; error_groups: object[]; read_columns: object }
type Told = { skip_bad_rows: boolean; skipped_rows: number | null; dataset: { rows: number; train_rows: number } }

suite('a file with names of its own and broken rows', async () => {
  const api = await openAccount()

  test('is proposed, read in place, refused by default, and trained on without its broken rows', async () => {
    await api.upload('regale', sheet)
    const { separator, proposed_columns: proposed } = await api.get<Preview>('/v1/data/regale/rows?limit=3')
    assert.deepEqual([separator, proposed?.input, proposed?.output], [';', 'Frage', 'Antwort, kurz'])
    assert.deepEqual(proposed?.rows[0], { line: 2, input: 'Wo ist Regal 0?', output: 'In Halle "0".' })
    assert.equal((await api.get<Report>('/v1/data/regale')).skippable, false)

    const columns = { input: 'Frage', output: 'Antwort, kurz' }
    const missing = await api.request<{ detail: string }>('PUT', '/v1/data/regale/columns', { output: 'Antwort' })
    assert.deepEqual([missing.status, /has "Nr", "Frage", "Antwort, kurz"/.test(missing.body.detail)], [400, true])
    const put = await api.request('PUT', '/v1/data/regale/columns', columns)
    assert.deepEqual([put.status, put.body], [200, { dataset_id: 'regale', version: 1, read_columns: columns }])
    const report = await api.get<Report>('/v1/data/regale')
    assert.deepEqual([report.state, report.bad_rows, report.skippable], ['invalid', 2, true])
    assert.equal(report.error_groups.length, 2)
    assert.deepEqual(report.read_columns, columns)

    const refused = await api.train({ dataset_id: 'regale' })
    const { status_message: why } = await api.until(refused, ({ status }) => status === 'FAILED')
    assert.match(
      why ?? '',
      /2 of 14 rows are bad: line 14: .*leave the bad rows out \(skip_bad_rows\) to train on the other 12 rows\.$/,
    )

    const asked = { dataset_id: 'regale', skip_bad_rows: true, finetune_args: { max_steps: 2 } }
    const dry = await api.post<{ skipped_rows: number; warnings: string[] }>('/v1/train?dry_run=true', {
      ...asked,
      model_name: connection().baseModel,
    })
    assert.deepEqual([dry.skipped_rows, dry.warnings.length], [2, 1])
    const id = await api.train(asked)
    const job = (await api.until(id, (each) => (each as unknown as Told).skipped_rows !== null)) as unknown as Told
    assert.deepEqual([job.skip_bad_rows, job.skipped_rows, job.dataset.rows, job.dataset.train_rows], [true, 2, 14, 12])
    const path = `/v1/train/jobs/${id}/skipped-rows`
    const file = await fetch(connection().apiUrl + path, { headers: { authorization: `Bearer ${api.apiKey}` } })
    const left = (await file.text()).trimEnd().split('\n')
    assert.deepEqual(JSON.parse(left[0] ?? ''), { line: 14, field: 'Antwort, kurz', reason: 'is empty' })
    assert.match(left[1] ?? '', /"line":15,"field":"row","reason":"has a quote within a cell/)
    const { events } = await api.get<{ events: { reason: string | null; message: string }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    assert.match(
      events.find(({ reason }) => reason === 'rows_skipped')?.message ?? '',
      /^2 of 14 rows are bad and left out/,
    )
    await api.post(`/v1/train/jobs/${id}/cancel`)
  })
})
