// Limits of docs/access.md that only a count reaches: the stub says that the account has as much as it may have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from './support.ts'

const counted = (count: number) => () => Promise.resolve(count)
const names = {
  lock: () => Promise.resolve(true),
  aliases: () => Promise.resolve(Array.from({ length: 100 }, (_, index) => ({ alias: `a${index}` }))),
}
const criterion = { type: 'string_check', name: 'same', operation: 'eq', input: '{{item.a}}', reference: 'a' }
const definition = { itemSchema: { type: 'object' }, includesSample: false, criteria: [criterion] }
const now = new Date(0)
const pendingUpload = { sizeBytes: 2 ** 30, status: 'pending' }
/** Counts what arrives, and keeps nothing. */
async function countBytes(_key: string, pieces: AsyncIterable<Buffer>) {
  let sizeBytes = 0
  for await (const { length } of pieces) sizeBytes += length
  return sizeBytes
}
const edge = await startPublic({
  database: {
    datasets: {
      createVersion: () => Promise.resolve(),
      findFile: () => Promise.resolve({ sizeBytes: 2 ** 24 + 1 }),
      removeUnused: () => Promise.resolve(false),
    },
    fileUploads: {
      openCount: counted(100),
      hold: () => Promise.resolve(pendingUpload),
      held: () => Promise.resolve({ partCount: 0, sizeBytes: 0 }),
    },
    evals: { count: counted(1000), find: () => Promise.resolve({ definition, createdAt: now, updatedAt: now }) },
    modelEvaluations: { openOf: () => Promise.resolve({ evaluationCount: 0, answerCount: 0 }) },
    modelNames: names,
    storedRows: { add: () => Promise.resolve(), count: counted(500_001), exists: () => Promise.resolve(false) },
  },
  storage: { writeStream: countBytes },
})

const upload = { bytes: 1, filename: 'f.jsonl', mime_type: 'text/jsonl', purpose: 'fine-tune' }
const evaluation = { data_source_config: { type: 'custom', item_schema: { type: 'object' } } }
const runs = `/openai/v1/evals/eval_${'1'.repeat(32)}/runs`
const run = (content: object[]) => ({ data_source: { type: 'jsonl', source: { type: 'file_content', content } } })
const fileRun = { data_source: { type: 'jsonl', source: { type: 'file_id', id: `file-${'1'.repeat(32)}` } } }
const parts = { part_ids: Array(10_001).fill('p') }
const evaluate = { models: ['tiny'], dataset_id: 'set' }

const refusals: [what: string, method: string, path: string, json: object, status: number, sentence: RegExp][] = [
  ['100 open uploads', 'POST', '/openai/v1/uploads', upload, 429, /has 100 open uploads, the most/],
  ['1,000 evals', 'POST', '/openai/v1/evals', { ...evaluation, testing_criteria: [criterion] }, 429, /has 1000 evals/],
  ['100 aliases', 'PUT', '/v1/models/bot/aliases/next', { version: 1 }, 409, /has 100 aliases, which is the limit/],
  ['500,000 rows', 'POST', '/v1/svc/data', { id: 'i', data: { a: { b: 1 } } }, 429, /An id may hold 500000 rows/],
  ['a file of 8 GiB', 'POST', '/openai/v1/uploads', { ...upload, bytes: 2 ** 33 + 1 }, 400, /8589934592/],
  [
    '10 criteria',
    'POST',
    '/openai/v1/evals',
    { ...evaluation, testing_criteria: Array(11).fill(criterion) },
    400,
    /10/,
  ],
  [
    '10,000 items',
    'POST',
    runs,
    run(Array(10_001).fill({ item: { a: 'a' } })),
    400,
    /more than 10000 items\. Split it/,
  ],
  ['16 MiB of items in a file', 'POST', runs, fileRun, 400, /the file has more than 16777216 bytes\. Split it/],
  ['10,000 parts', 'POST', `/openai/v1/uploads/upload_${'1'.repeat(32)}/complete`, parts, 400, /part_ids.* 10000 /],
  ['8 models', 'POST', '/v1/evaluations', { ...evaluate, models: Array(9).fill('tiny') }, 400, /models.* 8 /],
  ['2,000 rows', 'POST', '/v1/evaluations', { ...evaluate, max_rows: 2001 }, 400, /max_rows must be at most 2000/],
  [
    '4,096 tokens',
    'POST',
    '/v1/evaluations',
    { ...evaluate, max_tokens: 4097 },
    400,
    /max_tokens must be at most 4096/,
  ],
  ['10 graders', 'POST', '/v1/evaluations', { ...evaluate, graders: Array(11).fill({ type: 'f1' }) }, 400, /10/],
]

for (const [what, method, path, json, status, sentence] of refusals)
  test(`more than ${what} is refused with a sentence that names the limit`, async () => {
    const answer = await edge.call(method, path, { json })
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.text, sentence)
    assert.equal(answer.headers['retry-after'] !== undefined, status === 429)
  })

test('a part of an upload of more than 64 MiB is refused with a sentence that names the limit', async () => {
  const send = (sizeBytes: number) => {
    const head = '--b\r\ncontent-disposition: form-data; name="data"; filename="part"\r\n\r\n'
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(sizeBytes, 'a'), Buffer.from('\r\n--b--\r\n')])
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    return edge.call('POST', `/openai/v1/uploads/upload_${'1'.repeat(32)}/parts`, { headers, body })
  }
  const { status, text } = await send(2 ** 26 + 1)
  assert.equal(status, 400, text)
  assert.match(text, /data must have at most 67108864 bytes\. Send smaller parts/)
  assert.equal((await send(2 ** 26 + 2 ** 21)).status, 413)
})
