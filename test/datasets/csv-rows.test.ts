import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { readDatasetRow } from '../../src/datasets/dataset-row.ts'
import { readDataset } from '../../src/datasets/read-dataset.ts'

/** The rows of a file by their lines: a pair of texts, or the reason why there is none. */
async function read(file: string) {
  const found: [line: number, row: [string, string] | string][] = []
  for await (const batch of readDataset(Readable.from([Buffer.from(file)])))
    for (const raw of batch) {
      const row = 'value' in raw ? readDatasetRow(raw.value) : { field: 'row', reason: raw.problem }
      found.push([raw.line, 'reason' in row ? `${row.field}: ${row.reason}` : [row.input, row.output]])
    }
  return found
}

const cells = (count: number, columns: string, sign = '","') =>
  `row: has ${count} cells, and the first line names ${columns}: put quotes around a text that contains ${sign}`
const strayQuote =
  'row: has a quote within a cell that does not begin with one: put quotes around the cell, and write two for each quote in it'
const cases: Record<string, [file: string, rows: Awaited<ReturnType<typeof read>>]> = {
  'an unquoted comma': [
    'input,output\nHello, you,b\nc,d\n',
    [
      [2, cells(3, '2 columns')],
      [3, ['c', 'd']],
    ],
  ],
  'a comma in the text of one column': ['text\nHello, world\n', [[2, cells(2, '1 column')]]],
  'an unquoted semicolon': ['input;output\na;b;c\n', [[2, cells(3, '2 columns', '";"')]]],
  'an unquoted tab': ['input\toutput\na\tb\tc\n', [[2, cells(3, '2 columns', 'a tab')]]],
  'empty cells at the end': ['input,output\na,b,,\n', [[2, ['a', 'b']]]],
  'a column without name or cells': [
    'input,output,\na,b,\nc,d\n',
    [
      [2, ['a', 'b']],
      [3, ['c', 'd']],
    ],
  ],
  'texts in a column without a name': [
    'input,,output\na,x,b\n',
    [[2, 'row: has a text in column 2, which has no name in the first line: name the column']],
  ],
  "pandas' numbers of the rows": [',input,output\n0,a,b\n', [[2, ['a', 'b']]]],
  'two columns of one name': [
    'input,input,output\na,b,c\nd,e,f\n',
    [[1, 'row: names the column "input" twice: give each column a name of its own']],
  ],
  'a line without optional cells': ['instruction,output,input\na,b\n', [[2, ['a', 'b']]]],
  'a line without a needed cell': ['input,output\na\n', [[2, 'output: is missing']]],
  'lines of empty cells': ['input,output\n,\na,b\n,,,\n', [[3, ['a', 'b']]]],
  'a quote that is not closed': [
    'input,output\n"a,b\nc,d\n',
    [[3, 'row: is not valid CSV: Quote Not Closed: the parsing is finished with an opening quote at line 3']],
  ],
  semicolons: ['input;output\na;b,c\n', [[2, ['a', 'b,c']]]],
  'quoted names and semicolons': ['"input";"output"\r\n"a;b";c\r\n', [[2, ['a;b', 'c']]]],
  tabs: ['\n\ninput\toutput\na\tb;c\n', [[4, ['a', 'b;c']]]],
  bars: ['input|output\na|b\n', [[2, ['a', 'b']]]],
  'a quote within a cell, before and after good rows': [
    'input,output\na,b\nc,d "e" "f"\ng,"h ""i"" "\n',
    [
      [2, ['a', 'b']],
      [3, strayQuote],
      [4, ['g', 'h "i" ']],
    ],
  ],
  'a quote within a name': ['input,out"put"\na,b\n', [[1, strayQuote]]],
  'a comma beside another sign': ['input,output\na;b,c|d\n', [[2, ['a;b', 'c|d']]]],
  'names with capitals and blanks': ['Input, Output \na, b\n', [[2, ['a', ' b']]]],
}
for (const [name, [file, rows]] of Object.entries(cases))
  test(`CSV: ${name}`, async () => {
    assert.deepEqual(await read(file), rows)
  })

test('a CSV file without a header, or with other names, is refused with the names that were found', async () => {
  for (const [file, names] of [
    ['Who?,Me.\nWhen?,Now.\n', '"Who?", "Me."'],
    ['subject;reply\nWhere?;Here.\n', '"subject", "reply"'],
  ] as const) {
    const [[line, reason] = []] = await read(file)
    assert.equal(line, 2)
    assert.ok(
      String(reason).startsWith(`row: has no text to learn: the row has ${names}; rows are read with`),
      String(reason),
    )
    assert.match(String(reason), /the first line of a CSV file names them/)
  }
})

test('a broken cell is not quoted at length', async () => {
  const [[, reason] = []] = await read(`input,output\n${'x'.repeat(10_000)}"y,z\n`)
  assert.ok(String(reason).length < 250)
})

test('the separator is the sign that divides the most lines as it divides the first one', async () => {
  const columnsOf = async (file: string) => {
    const [raw] = (await Array.fromAsync(readDataset(Readable.from([Buffer.from(file)])))).flat()
    return raw && 'value' in raw ? Object.keys(raw.value as object) : raw
  }
  const german = 'Frage;Antwort, kurz\nWo?;Hier, da und dort.\nWer?;Ich.\n'
  assert.deepEqual(await columnsOf(german), ['Frage', 'Antwort, kurz'])
  const bars = 'name, first|what|x;y\nAnn|one|a\nBob, junior|two|b\n'
  assert.deepEqual(await columnsOf(bars), ['name, first', 'what', 'x;y'])
  // A name that training reads decides, whatever the texts hold.
  assert.deepEqual(await columnsOf('input,output;long\na;b,c\na;b,c\n'), ['input', 'output;long'])
})

test('a file that ends within a quote, or has no good header, says that its rest was not read', async () => {
  for (const file of ['input,output\na,b\n"c,d\ne,f\n', 'in"put"\na\n', 'input,input\na,b\n']) {
    const raws = (await Array.fromAsync(readDataset(Readable.from([Buffer.from(file)])))).flat()
    const last = raws.at(-1)
    assert.ok(last && 'problem' in last && last.endsReading, file)
  }
})
