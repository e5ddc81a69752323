import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isProblem, readDatasetRow } from '../../src/datasets/dataset-row.ts'
import type { RawRow } from '../../src/datasets/raw-row.ts'
import { readDataset } from '../../src/datasets/read-dataset.ts'

/** Reads in chunks of one to seven bytes, so that every boundary falls somewhere unpleasant. */
async function read(file: string | Buffer, chunkBytes = 3): Promise<RawRow[]> {
  const bytes = Buffer.from(file)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, i) =>
    bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes),
  )
  return (await Array.fromAsync(readDataset(Readable.from(chunks)))).flat()
}
const values = (rows: RawRow[]) => rows.map((row) => ('value' in row ? row.value : row.problem))

const rows = [
  { input: 'Wie heißt "das"?', output: 'Zeile 1\nZeile 2, [x]' },
  { input: '🦙', output: '\\' },
]
const jsonLines = rows.map((row) => JSON.stringify(row)).join('\n')
const files: Record<string, string | Buffer> = {
  'JSON Lines': jsonLines,
  'JSON Lines with CRLF, blank lines and a BOM': `\uFEFF${rows.map((row) => JSON.stringify(row)).join('\r\n\r\n')}\r\n`,
  'JSON Lines behind a BOM and white space': `\uFEFF \n\n ${jsonLines}`,
  'a JSON array': JSON.stringify(rows, null, 2),
  'a compact JSON array': JSON.stringify(rows),
  CSV: 'input,output\n"Wie heißt ""das""?","Zeile 1\nZeile 2, [x]"\n🦙,\\\n',
  'CSV with CRLF and a BOM': '\uFEFFinput,output\r\n"Wie heißt ""das""?","Zeile 1\nZeile 2, [x]"\r\n🦙,\\\r\n',
  'gzipped JSON Lines': gzipSync(jsonLines),
  'JSON Lines in UTF-16': Buffer.from(`\uFEFF${jsonLines}`, 'utf16le'),
  'gzipped CSV in big-endian UTF-16': gzipSync(
    Buffer.from(`\uFEFFinput\toutput\n"Wie heißt ""das""?"\t"Zeile 1\nZeile 2, [x]"\n🦙\t\\\n`, 'utf16le').swap16(),
  ),
}

for (const [name, file] of Object.entries(files))
  test(`reads ${name}, however it is cut into chunks`, async () => {
    for (const chunkBytes of [1, 2, 3, 7, 1 << 20]) assert.deepEqual(values(await read(file, chunkBytes)), rows)
  })

test('names the line of each bad row and reads on', async () => {
  const read3 = await read('{"input":"a","output":"b"}\nnot json\n{"input":"c","output":"d"}\n')
  assert.deepEqual(read3[1], { line: 2, problem: 'is not valid JSON' })
  assert.equal(read3.length, 3)
  const array = await read('[\n{"input":"a","output":"b"},\n{"input": x},\n{"input":"c","output":"d"}\n]')
  assert.deepEqual(array[1], { line: 3, problem: 'is not valid JSON' })
  assert.equal(array.length, 3)
})

const half = String.raw`contains half of a character, such as \ud83e: a text was cut within an emoji or a rare letter`
const twice = (key: string) => `has the key "${key}" twice, and only one of the values could be read`
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const unreadable: [row: string, problem: string][] = [
  [String.raw`{"input": "cut \ud83e", "output": "b"}`, half],
  [String.raw`{"input": "a", "output": "b", "k\uD83E": 1}`, half],
  [String.raw`{"messages": [{"role": "user", "content": [{"type": "text", "text": "\udd99"}]}]}`, half],
  [String.raw`{"text": "a", "meta": {"b": ["\\\ud83e"]}}`, half],
  ['{"input": "a", "input": "b", "output": "c"}', twice('input')],
  [String.raw`{"text": "a", "m": [{"a" : 1, "\u0061":2}]}`, twice('a')],
  [`{"text": "a", "m": ${deep(100)}}`, 'is nested more than 100 levels deep'],
  [`{"text": "a", "m": ${deep(100_000)}}`, 'is nested more than 100 levels deep'],
]
for (const [row, problem] of unreadable)
  test(`a row ${row.slice(0, 60)} is refused by its line, as the trainer could not read it, or not all of it`, async () => {
    assert.deepEqual(await read(`{"text": "a"}\n${row}`, 1 << 16), [
      { line: 1, value: { text: 'a' } },
      { line: 2, problem },
    ])
    assert.deepEqual((await read(`[{"text": "a"},\n${row}]`, 1 << 16))[1], { line: 2, problem })
  })

test('whole characters, texts like keys, and levels that the trainer reads are good', async () => {
  const rows = [
    String.raw`{"input": "\ud83e\udd99 \\ud83e", "output": "\\\\\ud83e\udd99"}`,
    String.raw`{"input": "\"input\": \"x\":", "output": ": \"output\" :", "a\\" : ":"}`,
    `{"text": "a", "m": ${deep(99)}, "n": [{"a": 1}, {"a": 1}], "a": {"a": {"a": 1}}}`,
  ]
  const found = await read(rows.join('\n'), 1 << 16)
  assert.deepEqual(
    values(found),
    rows.map((row) => JSON.parse(row) as unknown),
  )
})

test('a row of more than 16 MB is refused with its line', async () => {
  const long = 'a'.repeat(18 * 1024 * 1024)
  const row = '{"input":"a","output":"b"}'
  for (const file of [`${row}\n{"input":"${long}"}\n`, `[${row},\n{"input":"${long}"}]`]) {
    const found = (await read(file, 1 << 20)).find((each) => 'problem' in each)
    assert.deepEqual(found, { line: 2, problem: 'is longer than 16 MB', endsReading: true })
  }
})

test('refuses a file that is no text, no gzip, or cut off, with the reason', async () => {
  assert.deepEqual(values(await read(Buffer.from([0xff, 0xfe, 0x00]))), ['is not valid UTF-16 text'])
  assert.deepEqual(values(await read(Buffer.from('a,b\xe9', 'latin1'))), ['is not UTF-8 text: save the file in UTF-8'])
  assert.match(String(values(await read(Buffer.from('PK\x03\x04...')))), /^is a ZIP archive or an Excel workbook/)
  assert.match(String(values(await read('PAR1'))), /^is a Parquet file/)
  assert.deepEqual(values(await read(gzipSync(jsonLines).subarray(0, 30))).at(-1), 'is not valid gzip')
  assert.match(String(values(await read('[{"input":"a","output":"b"}')).at(-1)), /not closed/)
  assert.deepEqual(await read(''), [])
  assert.deepEqual(await read('  \n \n'), [])
})

test('a row of each known shape becomes input and output', () => {
  assert.deepEqual(readDatasetRow({ input: 'i', output: 'o', extra: 1 }), { input: 'i', output: 'o' })
  assert.deepEqual(readDatasetRow({ prompt: 'i', completion: 'o' }), { input: 'i', output: 'o' })
  assert.deepEqual(readDatasetRow({ question: 'i', answer: 'o' }), { input: 'i', output: 'o' })
  assert.deepEqual(readDatasetRow({ user: 'i', assistant: 'o' }), { input: 'i', output: 'o' })
  assert.deepEqual(readDatasetRow({ text: 't' }), { input: '', output: 't' })
})

test('a row that cannot be trained on is refused with its field and reason', () => {
  const problem = (row: unknown) => {
    const read = readDatasetRow(row)
    return isProblem(read) ? `${read.field}: ${read.reason}` : 'fine'
  }
  assert.equal(problem({ input: 'a' }), 'output: is missing')
  assert.equal(problem({ input: 'a', output: '' }), 'output: is empty')
  assert.equal(problem({ input: 1, output: 'b' }), 'input: is a number, not a string')
  assert.equal(problem({ input: ['a'], output: 'b' }), 'input: is an array, not a string')
  assert.equal(problem({ input: 'a\0', output: 'b' }), 'input: contains a NUL character')
  assert.equal(problem('text'), 'row: is not an object such as {"input": "...", "output": "..."}')
  assert.equal(problem({}), 'input: is missing')
})

test('a file that unpacks without end is given up', async () => {
  const [bomb, ...more] = await read(gzipSync(Buffer.alloc(20 * 1024 * 1024, 0x20)), 1 << 16)
  assert.ok(bomb && 'problem' in bomb && /of white space/.test(bomb.problem))
  assert.deepEqual(more, [])
  const line = `${JSON.stringify({ input: 'a', output: 'b'.repeat(100_000) })}\n`
  const rows = await read(gzipSync(line.repeat(3000)), 1 << 16)
  assert.deepEqual(rows.at(-1), {
    line: rows.length - 1,
    problem: 'unpacks to more than 200 times its compressed size',
    endsReading: true,
  })
})

test('a batch of rows of a CSV is small, however large their cells are', async () => {
  const line = Buffer.from(`question,${'a'.repeat(600_000)}\n`)
  const file = [Buffer.from('input,output\n'), ...Array.from({ length: 9 }, () => line)]
  const batches = await Array.fromAsync(readDataset(Readable.from(file)))
  assert.equal(batches.flat().length, 9)
  assert.ok(Math.max(...batches.map((batch) => batch.length)) <= 2)
})
