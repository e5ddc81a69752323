import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { defaultDatasetLimits } from '../../src/datasets/dataset-limits.ts'
import { createRowSelection, sampleRows } from '../../src/datasets/sample-rows.ts'
import { fingerprint } from '../../src/datasets/validate-rows.ts'
import type { Storage } from '../../src/storage/storage.ts'

const rows = Array.from({ length: 300 }, (_, index) => ({ input: `q${index}`, output: `a${index}` }))

function chosen(from: typeof rows, maxRows: number): string[] {
  const selection = createRowSelection(maxRows)
  for (const row of from) selection.add(row, fingerprint(row))
  return selection.rows().map(({ input }) => input)
}

test('chooses the same distinct rows in any order, and keeps the order of the file', () => {
  const some = chosen(rows, 40)
  assert.equal(some.length, 40)
  assert.deepEqual(
    some,
    rows.map(({ input }) => input).filter((input) => some.includes(input)),
  )
  assert.deepEqual(chosen(rows.toReversed(), 40).toReversed(), some)
  assert.deepEqual(
    chosen([...rows, ...rows], 1000),
    rows.map(({ input }) => input),
  )
})

const user = { role: 'user' as const, content: 'Who?' }

test('a conversation keeps the messages before its last answer', () => {
  const selection = createRowSelection(10)
  const parameters = { type: 'object' }
  const tools = [{ type: 'function', function: { name: 'find', parameters } }]
  const conversation = { messages: [user, { role: 'assistant' as const, content: 'Ann.' }], learned: [1], tools }
  selection.add({ input: 'user: Who?', output: 'Ann.', conversation }, 'p')
  const chat = { messages: [user], tools: [{ name: 'find', parameters }] }
  assert.deepEqual(selection.rows(), [{ input: 'user: Who?', expected: 'Ann.', chat }])
})

const call = { id: 'a', type: 'function', function: { name: 'find', arguments: '{}' } }
const unfit = [
  { messages: [user, { role: 'assistant', tool_calls: [call] }] },
  { text: 'A text.' },
  { input: 'Who?' },
  { messages: [user, { role: 'assistant', tool_calls: [call] }] },
]

async function sampled(lines: object[], isSkipping: boolean) {
  const written: string[] = []
  const storage = {
    read: () => Promise.resolve(Readable.from([Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'))])),
    write: async (_key: string, bytes: Readable) => void written.push(await text(bytes)),
  } as unknown as Storage
  const sample = { dataKey: 'data', columns: null, maxRows: 10, key: 'rows', isSkipping }
  const found = await sampleRows(storage, sample, { limits: defaultDatasetLimits })
  return { ...found, rows: JSON.parse(written.join('')) as { input: string }[] }
}

test('names the rows that no evaluation can read, each reason with its first line, and what to do', async () => {
  const calls =
    'line 2: row: ends in a call of a function, which only the evaluation of a training job compares (2 rows)'
  const others = 'line 3: row: has no input to ask with; line 4: output: is missing'
  const bad = `4 of 5 rows are bad: ${calls}; ${others}`
  await assert.rejects(sampled([{ input: 'Who?', output: 'Ann.' }, ...unfit], false), (error: Error) => {
    const rest = 'Mend the file, or leave the bad rows out (skip_bad_rows) to evaluate the other 1 row.'
    assert.equal(error.message, `The data set cannot be used: ${bad}. ${rest}`)
    return true
  })
  await assert.rejects(
    sampled(unfit, true),
    /cannot be used, even without its bad rows: no good row remains: line 1: row/,
  )
})

test('leaves rows out where the request says so, and tells which', async () => {
  const rows = [...unfit, { input: 'Who?', output: 'Ann.' }]
  const { rows: chosen, rowCount, skipped } = await sampled(rows, true)
  assert.deepEqual(
    chosen.map(({ input }) => input),
    ['Who?'],
  )
  assert.deepEqual([rowCount, skipped.count], [1, 4])
  assert.match(skipped.note ?? '', /^4 of 5 rows are bad and left out: line 1: row: ends in a call/)
  assert.deepEqual((await sampled([{ input: 'Who?', output: 'Ann.' }], true)).skipped, { count: 0, note: null })
})

test('refuses too much text', () => {
  const selection = createRowSelection(10)
  assert.throws(() => selection.add({ input: 'x'.repeat(17 << 20), output: '' }, 'p'), /Lower max_rows/)
})
