import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasLongList, jsonPieces } from '../../../src/http/framework/json-pieces.ts'

const texts = Array.from({ length: 5000 }, (_, index) => ({ output: `"${index}" ü\n`.repeat(20) }))
const reasons = texts.map(() => 'stop')

async function written(value: object): Promise<string[]> {
  const pieces: string[] = []
  for await (const piece of jsonPieces(value)) pieces.push(piece)
  return pieces
}

test('a long list is written as JSON.stringify writes it, alone and in a field', async () => {
  const values = [
    texts,
    { embedding: texts },
    { none: undefined, outputs: texts, 'a "name"': null, finish_reason: reasons },
  ]
  for (const value of values) {
    assert.ok(hasLongList(value))
    assert.equal((await written(value)).join(''), JSON.stringify(value))
  }
})

test('what is short is written at once', () => {
  for (const value of [{}, [], [1], { outputs: texts.slice(0, 100) }, { a: { b: texts } }, 'text', null])
    assert.ok(!hasLongList(value))
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
