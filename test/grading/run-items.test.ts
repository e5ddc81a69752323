// The items of a run before it is accepted: what is refused, and how they are laid out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evalRunLimits, type EvalItem } from '../../src/domain/eval-run.ts'
import { layOutItems, type RunItems } from '../../src/grading/run-items.ts'

const linesOf = (items: readonly unknown[]) => Buffer.from(items.map((item) => `${JSON.stringify(item)}\n`).join(''))
const template = (content: string) => ({ template: [{ role: 'user' as const, content }] })
const grader = (output: string) => ({ type: 'equals', template: { output, expected: 'a' }, threshold: 1 }) as const

const layOut = (items: readonly unknown[], more: Partial<RunItems> = {}) =>
  layOutItems({ lines: linesOf(items), isFile: false, messages: null, requestCharacters: 0, graders: [], ...more })

const items = (count: number, characters: number): EvalItem[] =>
  Array.from({ length: count }, (_, at) => ({ item: { at, text: 'x'.repeat(characters) } }))

test('chunks can be read alone, and hold fewer items where these or their conversations are long', () => {
  const { object, chunks, chunkSize, itemCount } = layOut(items(300, 10), { messages: template('{{item.text}}') })
  assert.deepEqual([chunkSize, chunks.length, itemCount], [128, 3, 300])
  const last = chunks[2] ?? { offset: 0, sizeBytes: 0 }
  const read = JSON.parse(Buffer.from(object).subarray(last.offset).toString()) as EvalItem[]
  assert.deepEqual([read.length, read[0]?.item['at'], last.offset + last.sizeBytes], [44, 256, object.length])
  assert.equal(layOut(items(300, 60_000)).chunkSize, 69)
  const named = { messages: template('{{item.text}}'.repeat(20)) }
  assert.equal(layOut(items(4, 50_000), named).chunkSize, 4)
  assert.equal(layOut(items(4, 10), { ...named, requestCharacters: 1_000_000 }).chunkSize, 4)
})

test('a run is refused when its texts have too many characters, for one item or for all', () => {
  const long = '{{item.text}}'.repeat(40)
  assert.throws(() => layOut(items(2, 60_000), { messages: template(long) }), /Item 0 .* is too long for the texts/)
  assert.throws(() => layOut(items(2, 60_000), { graders: [grader(long)] }), /more than 2097152 characters/)
  assert.throws(
    () => layOut(items(600, 60_000), { messages: template('{{item.text}}'.repeat(34)) }),
    /its texts have more than 1073741824 characters in all/,
  )
  const many = '{{item.at}}'.repeat(1800)
  const graders = Array.from({ length: 6 }, () => grader(many))
  assert.throws(() => layOut(items(1000, 1), { graders }), /its templates name more than 10000000 parts/)
  assert.equal(layOut(items(900, 1), { graders }).itemCount, 900)
})

test('parts of a sample are known once the model has answered', () => {
  const graders = [grader('{{sample.model}} {{sample.output_json.a}} {{item.at}}')]
  assert.equal(layOut(items(1, 1), { graders, messages: template('{{item.text}}') }).itemCount, 1)
  assert.throws(() => layOut(items(1, 1), { graders }), /Item 0 of data_source.source lacks a part: {{sample.model}}/)
})

test('a file is refused by its line', () => {
  const file = (text: string | Buffer) =>
    layOutItems({
      ...{ lines: Buffer.from(text), isFile: true, messages: null, requestCharacters: 0, graders: [] },
    })
  const good = JSON.stringify({ item: { a: 1 } })
  assert.equal(file(`\ufeff${good}\r\n\n  \n${good}`).itemCount, 2)
  assert.throws(() => file(`${good}\n{"item": 1}`), /line 2 is not an object/)
  assert.throws(() => file(`${good}\n{`), /line 2 is not an object/)
  assert.throws(() => file('{"item": {}, "sample": 1}'), /line 1 has a sample that is not an object/)
  assert.throws(() => file(String.raw`{"item": {"a": "\u0000"}}`), /line 1 contains a NUL/)
  assert.throws(() => file(`{"item": {"a": [${'[],'.repeat(300_000)}1]}}`), /line 1 has more than 524288 characters/)
  assert.throws(() => file(Buffer.from([0xff])), /not UTF-8/)
  assert.throws(() => file('\n\n'), /has no item/)
  assert.throws(() => file(`${good}\n`.repeat(evalRunLimits.items + 1)), /more than 10000 items/)
})
