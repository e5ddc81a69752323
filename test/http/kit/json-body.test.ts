import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { boundsOf } from '../../../src/http/kit/body-bounds.ts'
import { createJsonBodies } from '../../../src/http/kit/json-body.ts'
import { splitValue } from '../../../src/http/kit/json-split.ts'
import { parseObject, readText } from '../../../src/http/kit/parse-json.ts'

const bodies = createJsonBodies()
const bounds = boundsOf(64 * 1024 * 1024)
const signal = () => new AbortController().signal
const parse = async (bytes: Buffer, of = bounds) => (await bodies.parse(bytes, of, signal)).value
const filling = 'x'.repeat(1_200_000)
const prompts = Array.from({ length: 6001 }, (_, index) => `${index} "ü" [\\{,\ud800 ${'text '.repeat(40)}`)
const body = (value: unknown) => Buffer.from(JSON.stringify(value))
const asText = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown

test('parses a large body to the same value as JSON.parse', async () => {
  const values = [
    { prompt: prompts, stop: ['a'], none: null, nothing: [], deep: { list: prompts.slice(0, 10) }, n: -0.5 },
    { messages: prompts.map((content) => ({ role: 'user', content: [{ text: content }] })), stream: false },
    { numbers: Array.from({ length: 100_000 }, (_, index) => index / 7), lists: [[1], [], [[null]]] },
    { text: filling, list: [filling, 1, filling] },
    JSON.parse(`{"__proto__":[1,2],"constructor":{"a":1},"filling":"${filling}"}`),
  ]
  const parsed = await Promise.all(values.map((value) => parse(body(value))))
  for (const [index, value] of values.entries()) {
    assert.deepEqual(parsed[index], asText(value))
    assert.deepEqual(Object.keys(parsed[index] ?? {}), Object.keys(value as object))
  }
})

test('reports the problem of a large body in the words for a small body', async () => {
  const wrong = [`[${'1,'.repeat(400_000)}"${filling}"]`, `"${filling}"`, `{"a":"${filling}"`, `{"a":"${filling}",}`]
  const notUtf8 = Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(1_200_000, 0xff)])
  for (const bytes of [...wrong.map((text) => Buffer.from(text)), notUtf8]) {
    const { message } = (await parse(Buffer.from(bytes)).catch((error: unknown) => error as Error)) as Error
    assert.throws(() => parseObject(readText(bytes, bounds).text), { message })
  }
})

test('refuses nesting of more than 100 levels anywhere, and reads the next body', async () => {
  for (const depth of [101, 1000, 3000, 10_000, 1_000_000]) {
    const deep = '['.repeat(depth) + ']'.repeat(depth)
    for (const text of [`{"a":${deep},"b":"${filling}"}`, `{"b":"${filling}","a":{"b":${deep}}}`])
      await assert.rejects(parse(Buffer.from(text)), {
        code: 'invalid_input',
        message: 'The body is nested more than 100 levels deep.',
      })
  }
  assert.deepEqual(await parse(body({ prompt: prompts })), asText({ prompt: prompts }))
})

test('a body of a great many values is refused before they are built', async () => {
  for (const value of ['1,', '{},', '[],'])
    await assert.rejects(parse(Buffer.from(`{"z":[${value.repeat(600_000)}1]}`)), {
      message: /more than 500000 values/,
    })
})

test('an object of a great many names, or a text that is too long, is refused wherever it is', async () => {
  const names = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`${index}`, 1]))
  for (const value of [names, { a: [{ b: names }] }, { a: filling, b: names }])
    await assert.rejects(parse(body(value)), {
      message: 'The body holds an object of more than 10000 names. Shorten it.',
    })
  const { 0: _, ...most } = names
  assert.deepEqual(await parse(body({ a: [most, most] })), asText({ a: [most, most] }))
  await assert.rejects(parse(body({ a: ['a'.repeat(17 * 1024 * 1024)] })), { message: /a text of more than 16777216/ })
})

test('a body of an ordinary size holds no more values than the longest list of ids that a route takes', async () => {
  const ids = (count: number) => body({ part_ids: Array.from({ length: count }, (_, index) => `part-${index}`) })
  const ordinary = boundsOf(1024 * 1024)
  assert.deepEqual(Object.keys(await parse(ids(10_000), ordinary)), ['part_ids'])
  await assert.rejects(parse(ids(17_000), ordinary), { message: /more than 16000 values/ })
})

test('a large row is checked elsewhere and comes back as it was', async () => {
  const row = Buffer.from(`{"input": "ü${filling}"}\n`)
  assert.deepEqual(await bodies.checkRow(Buffer.from(row), 'data[3]', signal), row)
  const wrong = Buffer.from(`{"input": "${filling}\\u0000"}\n`)
  const message = 'data[3] must not contain NUL characters.'
  await assert.rejects(bodies.checkRow(wrong, 'data[3]', signal), { message, issues: [{ path: 'data[3]', message }] })
})

test('a client that leaves while it waits gives up its place, and other bodies are parsed', async () => {
  const leaving = new AbortController()
  const others = Promise.all([1, 2, 3].map(() => parse(body({ prompt: prompts }))))
  const left = [1, 2].map(() => bodies.parse(body({ prompt: prompts }), bounds, () => leaving.signal))
  leaving.abort(new Error('gone'))
  for (const each of left) await assert.rejects(each, { message: 'gone' })
  for (const each of await others) assert.deepEqual(each, asText({ prompt: prompts }))
})

const fields = Object.fromEntries(
  Array.from({ length: 10 }, (_, part) => [
    `part ${part}`,
    Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`field ${part} ${index}`, index])),
  ]),
)

for (const [what, value] of Object.entries({
  'of a long list': { prompt: prompts },
  'of many values in one place': { tool: { parameters: { properties: fields } }, list: [{ deep: [fields] }] },
}))
  test(`others get their turns while a large body ${what} is parsed`, async () => {
    let isParsed = false
    const parsing = parse(body(value)).finally(() => (isParsed = true))
    let turns = 0
    for (; !isParsed; turns++) await nextTurn()
    assert.ok(JSON.stringify(await parsing) === JSON.stringify(value))
    assert.ok(turns > 8, `${turns} turns`)
  })

test('a piece of a large body is small wherever the body is large', () => {
  const values = [{ prompt: prompts }, { a: { b: fields } }, { list: [[[fields]], { c: [filling, filling] }] }]
  for (const value of values.map(asText) as object[]) {
    const { value: rest, pieces } = splitValue(value)
    for (const piece of pieces) assert.ok(JSON.stringify(piece).length < filling.length + 1000)
    assert.ok(JSON.stringify(rest).length < 100)
  }
})
