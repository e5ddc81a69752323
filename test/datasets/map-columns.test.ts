import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { defaultDatasetLimits } from '../../src/datasets/dataset-limits.ts'
import type { Columns } from '../../src/domain/dataset-report.ts'
import { mapColumns } from '../../src/datasets/map-columns.ts'
import type { Storage } from '../../src/storage/storage.ts'

/** @returns the written rows; an object whose stream fails does not exist */
async function mapped(file: string, columns: Columns) {
  let written: Promise<string> | undefined
  const storage = {
    read: () => Promise.resolve(Readable.from([Buffer.from(file)])),
    writeStream(_key: string, stream: Readable) {
      written = text(stream)
      return written.then(({ length }) => length)
    },
  } as unknown as Storage
  const { rowCount } = await mapColumns(storage, { dataKey: 'a', columns, key: 'b' }, { limits: defaultDatasetLimits })
  const lines = (await written)?.trim().split('\n') ?? []
  assert.equal(lines.length, rowCount)
  return lines.map((line) => JSON.parse(line) as unknown)
}

const csv = 'id,Subject,"the reply"\n1,Where?,"Here, ""there"""\n2,,Now.\n'

test('the named columns become input and output, and the others are left out', async () => {
  assert.deepEqual(await mapped(csv, { input: 'Subject', output: 'the reply' }), [
    { input: 'Where?', output: 'Here, "there"' },
    { input: '', output: 'Now.' },
  ])
  const lines = '{"q": "a", "input": "x", "a": "b"}\n{"a": "d", "q": "c"}\n'
  assert.deepEqual(await mapped(lines, { input: 'q', output: 'a' }), [
    { input: 'a', output: 'b' },
    { input: 'c', output: 'd' },
  ])
})

test('without a column of inputs the whole text of the outputs is kept', async () => {
  assert.deepEqual(await mapped(csv, { input: null, output: 'the reply' }), [
    { input: '', output: 'Here, "there"' },
    { input: '', output: 'Now.' },
  ])
})

test('a row that does not have the columns is named with its line, and nothing is written', async () => {
  await assert.rejects(
    mapped(csv, { input: 'Subject', output: 'reply' }),
    /2 of 2 rows are bad: line 2: reply: is missing/,
  )
  await assert.rejects(
    mapped('{"q": "a", "a": 7}', { input: 'q', output: 'a' }),
    /line 1: a: is a number, not a string/,
  )
})
