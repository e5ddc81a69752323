// A process with a small heap that reads users' JSON of 15 MB, which would take half a gigabyte as values. Prints what it finds.
import { gzipSync } from 'node:zlib'
import { readDatasetRow, isProblem } from '../../../src/datasets/dataset-row.ts'
import { readDataset } from '../../../src/datasets/read-dataset.ts'
import { splitStreamingBody } from '../../../src/datasets/streaming-body.ts'
import { validateRow } from '../../../src/domain/validate-row.ts'
import { readText } from '../../../src/http/kit/parse-json.ts'

const manyBytes = 15_000_000
/** Written without a value in memory. */
const many = Buffer.alloc(manyBytes, '{},')
const deep = Buffer.concat([Buffer.alloc(manyBytes / 2, '['), Buffer.alloc(manyBytes / 2, ']')])
const escaped = Buffer.alloc(manyBytes, '[0],')

const wrap = (before: string, value: Buffer, after: string) =>
  Buffer.concat([Buffer.from(before), value, Buffer.from(after)])
const rows = {
  values: wrap('{"input":"a","output":"b","x":[', many, '0]}'),
  levels: wrap('{"input":"a","output":"b","x":', deep, '}'),
  arguments: wrap(
    '{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"type":"function","function":' +
      String.raw`{"name":"f","arguments":"{\"a\":[`,
    escaped,
    String.raw`0]}"}}]}]}`,
  ),
}

for (const [name, row] of Object.entries(rows)) {
  const files = { lines: row, array: wrap('[', row, ']'), gzip: gzipSync(row, { level: 1 }) }
  for (const [form, file] of Object.entries(files)) console.log(`${name} in ${form}: ${await problemOf(file)}`)
  console.log(`${name} in a body: ${refusalOf(() => takeApart(wrap('{"data":[', row, ']}')))}`)
}
console.log(`values as a body: ${refusalOf(() => readText(rows.values, {}))}`)
console.log(`levels as a body: ${refusalOf(() => readText(rows.levels, {}))}`)

async function problemOf(file: Buffer): Promise<string> {
  for await (const [row] of readDataset(piecesOf(file)))
    if (row && 'problem' in row) return row.problem
    else if (row) {
      const read = readDatasetRow(row.value)
      return isProblem(read) ? `${read.field} ${read.reason}` : 'nothing'
    }
  return 'no row'
}

async function* piecesOf(file: Buffer) {
  for (let from = 0; from < file.length; from += 65_536) yield file.subarray(from, from + 65_536)
}

function takeApart(body: Buffer) {
  const parts = splitStreamingBody({ fields: ['data'], restLimitBytes: 1e6 })
  for (let from = 0; from < body.length; from += 65_536)
    for (const { bytes, unchecked } of parts.push(Buffer.from(body.subarray(from, from + 65_536))))
      if (unchecked !== undefined) validateRow(bytes, unchecked)
  parts.end()
}

function refusalOf(work: () => unknown): string {
  try {
    work()
    return 'nothing'
  } catch (error) {
    return (error as Error).message
  }
}
