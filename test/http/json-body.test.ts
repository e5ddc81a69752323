import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { createJsonBodies } from '../../src/http/edge/json-body.ts'
import { parseObject } from '../../src/http/edge/json-text.ts'

const bodies = createJsonBodies()
const filling = 'x'.repeat(1_200_000)
const prompts = Array.from({ length: 6001 }, (_, index) => `${index} "ü" \ud800 ${'text '.repeat(40)}`)
const body = (value: unknown) => Buffer.from(JSON.stringify(value))

test('a large body is what JSON.parse makes of it, whatever is in its fields', async () => {
  const values = [
    { prompt: prompts, stop: ['a'], none: null, nothing: [], deep: { list: prompts.slice(0, 10) }, n: -0.5 },
    { messages: prompts.map((content) => ({ role: 'user', content: [{ text: content }] })), stream: false },
    { numbers: Array.from({ length: 100_000 }, (_, index) => index / 7), lists: [[1], [], [[null]]] },
    { text: filling, list: [filling, 1, filling] },
    JSON.parse(`{"__proto__":[1,2],"constructor":{"a":1},"filling":"${filling}"}`),
  ]
  const parsed = await Promise.all(values.map((value) => bodies.parse(body(value))))
  for (const [index, value] of values.entries()) {
    assert.deepEqual(parsed[index], JSON.parse(JSON.stringify(value)))
    assert.deepEqual(Object.keys(parsed[index] ?? {}), Object.keys(value as object))
  }
})

test('what is wrong with a large body is said as of a small one', async () => {
  const wrong = [`[${'1,'.repeat(600_000)}1]`, `"${filling}"`, `{"a":"${filling}"`, `{"a":"${filling}",}`].map((text) =>
    Buffer.from(text),
  )
  for (const bytes of [...wrong, Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(1_200_000, 0xff)])]) {
    const { message } = (await bodies.parse(bytes).catch((error: unknown) => error as Error)) as Error
    assert.throws(() => parseObject(bytes), { message })
  }
})

test('a body that is nested too deeply is refused, and the next one read', async () => {
  const depth = 1_000_000
  const deep = Buffer.from(`{"a":{"b":${'['.repeat(depth)}${']'.repeat(depth)}}}`)
  await assert.rejects(bodies.parse(deep), { code: 'invalid_input' })
  assert.deepEqual(await bodies.parse(body({ prompt: prompts })), JSON.parse(JSON.stringify({ prompt: prompts })))
})

test('others get their turns while a large body is parsed', async () => {
  let isParsed = false
  const parsing = bodies.parse(body({ prompt: prompts })).finally(() => (isParsed = true))
  let turns = 0
  for (; !isParsed; turns++) await nextTurn()
  await parsing
  assert.ok(turns > 8, `${turns} turns`)
})
