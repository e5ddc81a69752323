import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchName, refusedLines } from '../../console/src/domain/batch.ts'
import { short } from '../../console/src/domain/format.ts'
import { numberedName } from '../../console/src/domain/job-list.ts'

test('ids that the service gave are cut short, and names are not', () => {
  const ids = ['9c0f'.repeat(16), 'c58b'.repeat(8), `file-${'a1'.repeat(16)}`, '0a1b2c3d-0000-4000-8000-000000000000']
  for (const id of ids) assert.equal(short(id), `${id.slice(0, 10)}…`)
  for (const name of ['pip@2', 'products', 'ftjob-7:ckpt-step-60', 'deadbeef']) assert.equal(short(name), name)
  assert.equal(numberedName({ job_id: 7, display_name: 'job 7' }), 'job 7')
  assert.equal(numberedName({ job_id: 7, display_name: 'pip@2' }), 'pip@2 #7')
})

test('a batch is named by what it holds, and its errors by the lines of a file', () => {
  assert.equal(batchName({ kind: 'embeddings', item_counts: { total: 1200 } }), '1,200 embeddings')
  assert.equal(batchName({ kind: 'requests', item_counts: { total: 1 } }), '1 request of a file')
  const lines = [
    { id: 'x', custom_id: 'a', response: { status_code: 400, body: { error: { message: 'Too long.' } } }, error: null },
    { id: 'y', custom_id: null, response: null, error: { code: 'batch_cancelled', message: 'Cancelled.' } },
  ]
  assert.deepEqual(refusedLines(lines.map((line) => `${JSON.stringify(line)}\n`).join('')), [
    { place: 'a', message: 'Too long.' },
    { place: '–', message: 'Cancelled.' },
  ])
})
