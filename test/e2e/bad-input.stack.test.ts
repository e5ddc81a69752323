// A data set that cannot be trained on fails its job before any process starts.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { pidOf } from '../support/processes.ts'
import { openAccount } from '../support/stack.ts'

suite('bad input', async () => {
  const api = await openAccount()

  test('an unreadable data set fails with its line numbers before any process starts', async () => {
    const messages = Array.from({ length: 5000 }, (_, turn) => ({
      role: turn % 2 ? 'assistant' : 'user',
      content: 'a',
    }))
    const file = `{"input":"a","output":"b"}\n{"input":"a"}\nnot json\n{"input":1,"output":"b"}\n${JSON.stringify({ messages })}\n`
    const id = await api.train({ upload_file_path: await api.upload('bad-rows', file) })
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'data_error')
    assert.match(
      job.status_message ?? '',
      /4 of 5 rows are bad: line 2: output: is missing; line 3: row: is not valid JSON; line 4: input: is a number.*line 5: messages: has 5000 messages/,
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
})
