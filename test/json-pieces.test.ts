import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLargeJson, jsonPieces } from '../src/json-pieces.ts'

const texts = Array.from({ length: 5000 }, (_, index) => ({ output: `"${index}" ü\n`.repeat(20) }))
const reasons = texts.map(() => 'stop')
const long = '"a\n🎒'.repeat(300_000)

async function written(value: object): Promise<string[]> {
  const pieces: string[] = []
  for await (const piece of jsonPieces(value)) pieces.push(piece)
  return pieces
}

test('large JSON is written as JSON.stringify writes it, wherever it is large', async () => {
  const values = [
    texts,
    { embedding: texts },
    { none: undefined, outputs: texts, 'a "name"': null, finish_reason: reasons },
    { a: { b: { texts: [long, `\ud83c${long}`, `${long}\udf92`] } } },
    { numbers: Array.from({ length: 100_000 }, (_, index) => index / 7), lists: texts.map(() => [1.5, null, [true]]) },
    [undefined, long],
  ]
  for (const value of values) {
    assert.ok(isLargeJson(value))
    assert.equal((await written(value)).join(''), JSON.stringify(value))
  }
})

test('writes a short value at once', () => {
  for (const value of [{}, [], [1], { outputs: texts.slice(0, 100) }, { a: { b: texts.slice(0, 100) } }, 'text', null])
    assert.ok(!isLargeJson(value))
})

test('no piece is large, whether values are many or long', async () => {
  for (const value of [texts, [long, long], { a: { b: long } }])
    for (const piece of await written(value)) assert.ok(piece.length < 4 * 256 * 1024)
})

test('others get their turn between the pieces', async () => {
  let turns = 0
  const count = () => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const pieces = await written(texts)
  clearImmediate(next)
  assert.ok(pieces.length > 3)
  assert.ok(turns >= pieces.length - 1)
})
