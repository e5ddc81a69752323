import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitStreamingBody } from '../../src/datasets/streaming-body.ts'
import { ServiceError } from '../../src/domain/service-error.ts'

/** Takes a body apart in pieces of so many bytes. */
function take(body: string | Buffer, pieceBytes: number, restLimitBytes = 1 << 20) {
  const bytes = Buffer.from(body)
  const rowBody = splitStreamingBody({ fields: ['data', 'eval_data'], restLimitBytes })
  const texts: Record<string, string> = { data: '', eval_data: '' }
  for (let at = 0; at < bytes.length; at += pieceBytes)
    for (const { field, bytes: lines } of rowBody.push(Buffer.from(bytes.subarray(at, at + pieceBytes))))
      texts[field] += lines.toString()
  return {
    lines: withoutSpaces(texts['data'] ?? ''),
    evalLines: withoutSpaces(texts['eval_data'] ?? ''),
    rest: rowBody.end().toString(),
    rowCount: rowBody.rowCount('data'),
  }
}

/** Lines are as they came; what stands between the strings of a row may be white space. */
const withoutSpaces = (lines: string) =>
  lines
    .split('\n')
    .map((line) => (line === '' ? '' : JSON.stringify(JSON.parse(line))))
    .join('\n')

const sizes = [1, 2, 3, 7, 1 << 20]
const rows = [
  { input: 'Wie heißt "das"?', output: 'a\n[,{]}\\' },
  { input: '🦙', output: '' },
  { n: [[1, 2], { x: null }] },
]
const linesOf = (values: unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

test('rows leave as JSON Lines and the rest stays, however the body is cut', () => {
  const bodies = [
    JSON.stringify({ upload_base_path: 's3', data: rows, is_public: true }),
    JSON.stringify({ upload_base_path: 's3', data: rows, is_public: true }, null, 2),
    JSON.stringify({ upload_base_path: 's3', data: rows, is_public: true }).replace('"data"', '"d\\u0061ta"'),
  ]
  for (const body of bodies)
    for (const size of sizes) {
      const { lines, rest, rowCount } = take(body, size)
      assert.equal(lines, linesOf(rows))
      assert.deepEqual(JSON.parse(rest), { upload_base_path: 's3', data: null, is_public: true })
      assert.equal(rowCount, 3)
    }
})

test('a row of more than a megabyte that came in pieces is left to be checked elsewhere', () => {
  const large = { input: 'a'.repeat(1 << 20), output: 'b' }
  const body = Buffer.from(JSON.stringify({ data: [...rows, large, ...rows] }))
  const rowBody = splitStreamingBody({ fields: ['data'], restLimitBytes: 1 << 20 })
  const pieces = Array.from({ length: Math.ceil(body.length / 65_536) }, (_, at) =>
    Buffer.from(body.subarray(at * 65_536, (at + 1) * 65_536)),
  )
  const found = pieces.flatMap((piece) => rowBody.push(piece))
  const unchecked = found.filter((lines) => lines.unchecked !== undefined)
  assert.deepEqual(unchecked, [
    { field: 'data', bytes: Buffer.from(`${JSON.stringify(large)}\n`), unchecked: 'data[3]' },
  ])
  assert.equal(rowBody.rowCount('data'), 7)
})

test('two fields of rows are told apart, in any order and with anything between them', () => {
  const more = [{ q: 1 }, { q: '[' }]
  for (const body of [
    { data: rows, a: [1], eval_data: more },
    { eval_data: more, data: rows, a: [1] },
    { a: [1], eval_data: more, data: rows },
  ])
    for (const text of [JSON.stringify(body), JSON.stringify(body, null, 2)])
      for (const size of sizes) {
        const { lines, evalLines, rest } = take(text, size)
        assert.deepEqual([lines, evalLines], [linesOf(rows), linesOf(more)])
        assert.deepEqual(JSON.parse(rest), { a: [1], data: null, eval_data: null })
      }
  assert.throws(() => take('{"eval_data":[],"data":[],"eval_data":[]}', 5), /eval_data must be given only once/)
})

test('only the field of the outermost object carries rows', () => {
  const body = { a: { data: [{ x: 1 }] }, b: [{ data: [2] }], c: 'data', '"data"': [3], data: [{ y: 4 }] }
  for (const size of sizes) {
    const { lines, rest } = take(JSON.stringify(body), size)
    assert.equal(lines, '{"y":4}\n')
    assert.deepEqual(JSON.parse(rest), { ...body, data: null })
  }
})

test('a field that is absent, null, empty or no array is left to the schema', () => {
  for (const [body, data] of [
    ['{"a":1}', undefined],
    ['{"data":null}', null],
    ['{"data" : [ \n ]}', []],
    ['{"data":"[1]"}', '[1]'],
    ['{"data":{"data":[1]}}', { data: [1] }],
  ] as const) {
    const { lines, rest, rowCount } = take(body, 3)
    assert.deepEqual([lines, rowCount, (JSON.parse(rest) as { data?: unknown }).data], ['', 0, data])
  }
})

test('refuses a value that is no row by its place', () => {
  for (const [body, problem] of [
    ['{"data":[{"a":1},2]}', /data\[1\] must be an object/],
    ['{"data":[[1]]}', /data\[0\] must be an object/],
    ['{"data":[{"a":1},]}', /data\[1\] is not valid JSON/],
    ['{"data":[,{"a":1}]}', /data\[0\] is not valid JSON/],
    ['{"data":[{"a":1} {"b":2}]}', /data\[0\] is not valid JSON/],
    ['{"data":[{"a":1}}', /ends with "}"/],
    ['{"data":[{"a":1}', /ends within data/],
    ['{"data":[{"a":1}],"data":[{"a":1}]}', /given only once/],
    ['{"data":[{"a":"\\u0000"}]}', /data\[0\] must not contain NUL/],
    ['{"data":[{"a":"\\uD800"}]}', /lone surrogates/],
    [`{"data":[{"a":${'['.repeat(40)}${']'.repeat(40)}}]}`, /nested at most 32/],
    [Buffer.from('{"data":[{"a":"\xff"}]}', 'latin1'), /not/],
  ] as const)
    for (const size of sizes)
      assert.throws(
        () => take(body, size),
        (error) => error instanceof ServiceError && problem.test(error.message),
        String(body),
      )
})

test('an escaped backslash before u0000 is text like any other, and so is a pair of surrogates', () => {
  const row = { a: '\\u0000 \\ud800', b: '🦙' }
  const text = JSON.stringify(row).replace('🦙', '\\ud83e\\udd99')
  assert.deepEqual(JSON.parse(take(`{"data":[${text}]}`, 1).lines), row)
})

test('the rest is bounded', () => {
  assert.throws(() => take(`{"a":"${'x'.repeat(100)}","data":[]}`, 7, 64), /beside data and eval_data/)
})

test('rows of any shape come out as they went in, wherever the pieces are cut', () => {
  // A fixed sequence: the same bodies in every run.
  let state = 7
  const random = (below: number) => (state = (state * 48271) % 2147483647) % below
  const texts = ['', 'a', '},{', '"}, "', '[]}', '\\', 'é🦙', '\n', '{"a":1},', 'x'.repeat(200)]
  const value = (depth: number): unknown => {
    const kind = random(depth > 2 ? 4 : 6)
    if (kind < 2) return texts[random(texts.length)]
    if (kind < 4) return [1, -2.5e-7, true, null][random(4)]
    if (kind === 4) return Array.from({ length: random(3) }, () => value(depth + 1))
    return { [texts[random(3)] ?? '']: value(depth + 1) }
  }
  for (let round = 0; round < 300; round++) {
    const isFlat = round % 3 !== 0
    const data = Array.from({ length: random(40) }, () =>
      Object.fromEntries(
        ['input', 'output'].slice(random(2)).map((key) => [key, isFlat ? texts[random(texts.length)] : value(0)]),
      ),
    )
    const rowTexts = data.map((row) => JSON.stringify(row, null, [0, 2][random(2)]))
    const text = `{"data":[${rowTexts.join([',', ', ', ' ,\r\n', '\t,\n'][random(4)])}],"more":[{}]}`
    const { lines, rest, rowCount } = take(text, 1 + random(500))
    assert.equal(rowCount, data.length)
    assert.equal(lines, linesOf(data))
    assert.deepEqual(JSON.parse(rest), { data: data.length === 0 ? [] : null, more: [{}] })
  }
})
