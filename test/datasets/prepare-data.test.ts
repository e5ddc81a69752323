import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defaultDatasetLimits } from '../../src/datasets/dataset-limits.ts'
import { prepareData } from '../../src/datasets/prepare-data.ts'
import { rowReader, type Columns } from '../../src/domain/dataset-report.ts'
import { preparedFiles, type RowsFile, type TrainingSpec } from '../../src/domain/training-job.ts'
import type { TrainingMethod } from '../../src/domain/training-method.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** Prepares an upload in a store in memory, or several. */
async function prepare(
  upload: string | Buffer | Record<string, string>,
  limits: Partial<typeof defaultDatasetLimits> = {},
  evaluationKey: string | null = null,
  { columns = null, ...more }: { columns?: Columns | null; skipBadRows?: true; method?: TrainingMethod } = {},
) {
  const isOne = typeof upload === 'string' || Buffer.isBuffer(upload)
  const uploads = isOne ? { upload } : upload
  const sources = Object.keys(uploads).map((name) => ({ datasetId: name, versionId: name, dataKey: name, weight: 1 }))
  const objects = new Map<string, Buffer>([
    ...Object.entries(uploads).map(([name, bytes]) => [name, Buffer.from(bytes)] as const),
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
  const spec = { dataKey: 'upload', evaluationKey, baseModel, ...more, ...(!isOne && { sources }) }
  const job = { jobId: 1, spec, columns: sources.map(() => columns), evaluationColumns: null }
  const { prepared, reports, evaluation: evaluationReport } = await prepareData(storage, job, settings)
  const report = reports[0] ?? assert.fail('no report')
  const lines = (key: string) => (objects.get(key) ?? assert.fail('missing')).toString().trimEnd().split('\n')
  return {
    report,
    reports,
    evaluationReport,
    prepared,
    train: lines(prepared.train.key),
    evaluation: lines(prepared.evaluation.key),
    skipped: prepared.skipped && lines(prepared.skipped.key),
    places: (file: RowsFile) => placesOf(lines(file.lines?.key ?? assert.fail('no lines')), file.rowCount),
    objects,
  }
}

/** Each row's line in its upload, with the name of its data set. */
function placesOf(runs: string[], rowCount: number): string[] {
  const read = runs.map((run) => JSON.parse(run) as [number, number, string?])
  return Array.from({ length: rowCount }, (_, row) => {
    const [first, line, name] = read.findLast(([each]) => each <= row) ?? assert.fail('no run')
    return `${name ?? ''} ${line + row - first}`.trim()
  })
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
    ['own', 'upload', ...preparedFiles(prepared).map(({ key }) => key)].toSorted(),
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

test('the rows of several data sets are in one file, each with the place of its set, and each set has its counts', async () => {
  const [a, b] = [plain(200), plain(240).map((row) => ({ ...row, input: `b ${row.input}` }))]
  // Both sets have the first rows of `a`: what is set aside in one is not trained on in the other.
  const { prepared, train, evaluation, reports, places } = await prepare({ a: lines(a), b: lines([...b, ...a]) })
  const sourceOf = (line: string) => (JSON.parse(line) as { source: number }).source
  const inputOf = (line: string) => (JSON.parse(line) as { input: string }).input
  assert.deepEqual([...new Set(train.map(sourceOf))], [0, 1])
  assert.equal(prepared.evaluation.split, 'held_out')
  const heldOut = new Set(evaluation.map(inputOf))
  assert.equal(train.filter((line) => heldOut.has(inputOf(line))).length, 0)
  assert.deepEqual(
    prepared.sources?.map(({ rowCount, trainRows, heldOutRows }) => [rowCount, trainRows + heldOutRows]),
    [
      [200, 200],
      [440, 440],
    ],
  )
  assert.ok(prepared.sources?.every(({ heldOutRows }) => heldOutRows >= 10))
  assert.deepEqual(
    reports.map(({ set, rowCount }) => [set, rowCount]),
    [
      ['a', 200],
      ['b', 440],
    ],
  )
  const numbers = train.map((line, row) => [inputOf(line), places(prepared.train)[row]])
  for (const [input = '', place] of numbers.filter((_, at) => at % 50 === 0)) {
    const [name, line] = (place ?? '').split(' ')
    assert.equal((name === 'a' ? a : [...b, ...a])[Number(line) - 1]?.input, input)
  }
})

test('a row of one data set is written as ever, and the lines of its upload are kept beside it', async () => {
  const csv = 'prompt,completion\n"q\n1",a\nq2,\nq3,a\n'
  const { prepared, train, places } = await prepare(csv, {}, null, { skipBadRows: true })
  assert.deepEqual(train, ['{"input":"q\\n1","output":"a"}', '{"input":"q3","output":"a"}'])
  assert.deepEqual([places(prepared.train), prepared.sources], [['3', '5'], undefined])
  const pair = { prompt: 'q', chosen: 'a', rejected: 'b' }
  const method = { type: 'kto', hyperparameters: {}, given: [] } as unknown as TrainingMethod
  const judged = await prepare(lines([pair, pair]), {}, null, { method })
  assert.deepEqual(judged.places(judged.prepared.train), ['1', '1', '2', '2'])
})

test('a bad row of several data sets is named by its set and line', async () => {
  const good = { input: 'a', output: 'b' }
  const sets = { a: lines([good]), b: lines([good, { input: 'x', output: '' }]) }
  await assert.rejects(prepare(sets), /data set b cannot be used: 1 of 2 rows are bad: b, line 2: output: is empty/)
  const { train, skipped } = await prepare(sets, {}, null, { skipBadRows: true })
  assert.deepEqual([train.length, skipped], [2, ['{"dataset_id":"b","line":2,"field":"output","reason":"is empty"}']])
  const judged = (label: boolean) => lines([{ prompt: 'q', completion: 'a', label }])
  const method = { type: 'kto', hyperparameters: {}, given: [] } as unknown as TrainingMethod
  assert.equal((await prepare({ a: judged(true), b: judged(false) }, {}, null, { method })).train.length, 2)
  await assert.rejects(
    prepare({ a: judged(true), b: judged(true) }, {}, null, { method }),
    /all 2 rows are labelled true; KTO needs both/,
  )
})
