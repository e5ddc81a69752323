import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultDatasetLimits } from '../../src/datasets/dataset-limits.ts'
import { prepareData } from '../../src/datasets/prepare-data.ts'
import { rowReader, type Columns } from '../../src/domain/dataset-report.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** Prepares an upload in a store in memory. */
async function prepare(
  upload: string | Buffer,
  limits: Partial<typeof defaultDatasetLimits> = {},
  evaluationKey: string | null = null,
  { columns = null, ...more }: { columns?: Columns | null; skipBadRows?: true } = {},
) {
  const objects = new Map<string, Buffer>([
    ['upload', Buffer.from(upload)],
    ['own', Buffer.from('input,output,source\na,b,web\n')],
  ])
  const storage = {
    stat: async (key: string) => {
      const bytes = objects.get(key)
      return bytes ? { etag: `${bytes.length}`, sizeBytes: bytes.length } : null
    },
    copy: async (from: string, to: string) => void objects.set(to, objects.get(from) ?? assert.fail('missing')),
    read: async (key: string) => Readable.from([objects.get(key) ?? assert.fail('missing')]),
    remove: async (keys: string[]) => keys.forEach((key) => objects.delete(key)),
    writeStream: async (key: string, chunks: AsyncIterable<Buffer>) => {
      const bytes = await buffer(chunks)
      objects.set(key, bytes)
      return bytes.length
    },
  } as unknown as Storage
  const settings = { limits: { ...defaultDatasetLimits, ...limits }, tokenizers: [] }
  const baseModel = { name: 'tiny' } as TrainingSpec['baseModel']
  const spec = { dataKey: 'upload', evaluationKey, baseModel, ...more }
  const job = { jobId: 1, spec, columns, evaluationColumns: null }
  const { prepared, report, evaluation: evaluationReport } = await prepareData(storage, job, settings)
  const lines = (key: string) => (objects.get(key) ?? assert.fail('missing')).toString().trimEnd().split('\n')
  return {
    report,
    evaluationReport,
    prepared,
    train: lines(prepared.train.key),
    evaluation: lines(prepared.evaluation.key),
    skipped: prepared.skipped && lines(prepared.skipped.key),
    objects,
  }
}

const conversation = (turns: number, text = 'a') => ({
  messages: Array.from({ length: turns }, (_, turn) => ({
    role: turn % 2 === 0 ? 'user' : 'assistant',
    content: `${text}${turn}`,
  })),
})
const lines = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

test('a conversation is stored once and counts as one row, to train on and to evaluate', async () => {
  const row = conversation(1000, 'x'.repeat(170))
  const { prepared, train, evaluation, objects } = await prepare(lines([row]))
  assert.deepEqual([train.length, evaluation.length], [1, 1])
  assert.deepEqual(
    [prepared.train.rowCount, prepared.evaluation.rowCount, prepared.sourceEtag],
    [1, 1, String(lines([row]).length)],
  )
  assert.ok(prepared.train.sizeBytes < lines([row]).length * 1.1)
  assert.deepEqual(JSON.parse(train[0] ?? ''), {
    ...row,
    learned: Array.from({ length: 500 }, (_, turn) => 2 * turn + 1),
  })
  // The copy that was read is gone.
  assert.deepEqual(
    [...objects.keys()].toSorted(),
    ['own', 'upload', prepared.train.key, prepared.evaluation.key].toSorted(),
  )
})

test('the prepared rows say in which form they are, and which system message most conversations begin with', async () => {
  const system = { role: 'system', content: 'Be brief.' }
  const told = { messages: [system, ...conversation(2).messages] }
  const { prepared, report } = await prepare(lines([told, conversation(2), told, { input: 'a', output: 'b' }]))
  assert.deepEqual(prepared.learned, { form: 'conversations', systemMessage: 'Be brief.' })
  assert.deepEqual([report.form, report.countedFor], ['conversations', 'tiny'])
  const pairs = await prepare(lines([{ input: 'a', output: 'b' }]))
  assert.deepEqual(pairs.prepared.learned, { form: 'pairs', systemMessage: null })
})

test('conversations are set aside whole, with their duplicates', async () => {
  const rows = Array.from({ length: 300 }, (_, row) => conversation(4, `c${row} `))
  const { prepared, train, evaluation } = await prepare(lines([...rows, ...rows]))
  assert.deepEqual([prepared.evaluation.split, evaluation.length, train.length], ['held_out', 30, 570])
})

const plain = (count: number) =>
  Array.from({ length: count }, (_, row) => ({ input: `q${row}`, output: 'a'.repeat(100) }))

test('a data set beyond a limit is refused with the line and the limit', async () => {
  const upload = lines(plain(20_000))
  const limit = { unpackedBytes: 1024 ** 2 }
  await assert.rejects(prepare(upload, limit), /line \d+: row: is larger than 0.000977 GB/)
  await assert.rejects(prepare(gzipSync(upload), limit), /line \d+: row: unpacks to more than 0.000977 GB/)
  await assert.rejects(
    prepare(upload, { checkSeconds: 0 }),
    /line \d+: row: the check took more than 0 seconds of processor time up to here; split the data set/,
  )
})

test('rows that grow when they are prepared are bounded too', async () => {
  const csv = `prompt,completion\n${'\u0001,\u0001\n'.repeat(20_000)}`
  await assert.rejects(
    prepare(csv, { unpackedBytes: 128 * 1024 }),
    /^DatasetInvalidError: The training data cannot be used: line \d+: the prepared rows take more than 0.000244 GB up to here/,
  )
})

test('fields that are not read are counted in the reports on the rows to train and to evaluate on', async () => {
  const rows = [
    { input: 'a', output: 'b', id: 1 },
    { instruction: 'c', input: '', output: 'd', category: 'x', id: '' },
    { input: 'e', output: 'f', category: 'y', [`${'n'.repeat(100)}`]: [1], 'a\0': 1 },
  ]
  const { prepared, report, evaluationReport } = await prepare(lines(rows), {}, 'own')
  assert.deepEqual(report.unreadFields, [
    { field: 'id', rows: 1, line: 1 },
    { field: 'category', rows: 2, line: 2 },
    { field: 'n'.repeat(64), rows: 1, line: 3 },
    { field: 'a\uFFFD', rows: 1, line: 3 },
  ])
  assert.deepEqual(evaluationReport?.unreadFields, [{ field: 'source', rows: 1, line: 2 }])
  assert.deepEqual([prepared.reader, report.reader], [rowReader, rowReader])
  assert.equal((await prepare(lines(rows))).evaluationReport, null)
  // The names are the user's own, so their number is bounded.
  const many = Array.from({ length: 300 }, (_, at) => ({ input: 'a', output: 'b', [`f${at}`]: 1 }))
  const { unreadFields } = (await prepare(lines(many))).report
  assert.deepEqual([unreadFields.length, unreadFields.at(-1)], [51, { field: '(more fields)', rows: 250, line: 51 }])
})

const sheet = 'Nr;Frage;Antwort\n1;Wo?;Hier.\n2;Wann?;\n3;Warum?;Darum; oder so.\n4;Wer?;Ich.\n'
const columns = { input: 'Frage', output: 'Antwort' }
const parsed = (text: string) => JSON.parse(text) as unknown

test('a job that leaves out bad rows trains on the others, and lists each one that it left out with its line', async () => {
  const given = { columns, skipBadRows: true } as const
  const { prepared, report, train, evaluation, skipped } = await prepare(sheet, {}, null, given)
  assert.deepEqual(train.map(parsed), [
    { input: 'Wo?', output: 'Hier.' },
    { input: 'Wer?', output: 'Ich.' },
  ])
  assert.deepEqual(evaluation, train)
  const tooMany = 'has 4 cells, and the first line names 3 columns: put quotes around a text that contains ";"'
  assert.deepEqual(skipped?.map(parsed), [
    { line: 3, field: 'Antwort', reason: 'is empty' },
    { line: 4, field: 'row', reason: tooMany },
  ])
  assert.deepEqual([prepared.train.rowCount, prepared.skipped?.rowCount, prepared.columns], [2, 2, columns])
  assert.deepEqual([report.rowCount, report.badRowCount, report.columns], [4, 2, columns])
  assert.deepEqual(report.badRowGroups, [
    { field: 'Antwort', reason: 'is empty', rowCount: 1, lines: [3] },
    { field: 'row', reason: tooMany, rowCount: 1, lines: [4] },
  ])
  await assert.rejects(prepare(sheet, {}, null, { columns }), /2 of 4 rows are bad: line 3: Antwort: is empty;/)
  const whole = await prepare('input,output\na,b\n', {}, null, { skipBadRows: true })
  assert.equal(whole.prepared.skipped, undefined)
})

test('rows are set aside for the evaluation as if the bad rows were not there', async () => {
  const rows = Array.from({ length: 300 }, (_, row) => ({ input: `q${row}`, output: `a${row}` }))
  const bad = rows.flatMap((row, at) => (at % 3 === 0 ? [row, { input: 'x', output: '' }] : [row]))
  const [without, left] = [await prepare(lines(rows)), await prepare(lines(bad), {}, null, { skipBadRows: true })]
  assert.deepEqual([left.prepared.train.sha256, left.evaluation], [without.prepared.train.sha256, without.evaluation])
  assert.deepEqual([left.skipped?.length, left.report.badRowGroups[0]?.lines], [100, [2, 6, 10, 14, 18]])
})

test('a file that cannot be read to its end is refused also by a job that leaves out bad rows', async () => {
  const cut = prepare('[{"input": "a", "output": "b"},\n{"input": "c"', {}, null, { skipBadRows: true })
  await assert.rejects(cut, /even without its bad rows: line \d+: row: the JSON array is not closed.* were not read\./)
  const late = prepare(lines(plain(20_000)), { checkSeconds: 0 }, null, { skipBadRows: true })
  await assert.rejects(late, /the check took more than 0 seconds/)
})
