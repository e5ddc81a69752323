// Chats of a run and texts of its criteria, as the threads make them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EvalCriterion } from '../../src/domain/eval-criteria.ts'
import type { EvalItem } from '../../src/domain/eval-run.ts'
import { chatLines, fillChunk, type ChunkToAsk } from '../../src/grading/fill-criteria.ts'

const bytesOf = (items: EvalItem[]) => Buffer.from(JSON.stringify(items))
const people = bytesOf([{ item: { name: 'Ann', said: [{ role: 'user', content: 'Hi' }] } }, { item: { name: 7 } }])
const template = [
  { role: 'user' as const, content: ['Who is ', { type: 'input_text' as const, text: '{{item.name}}?' }] },
]

const ask = (more: Partial<ChunkToAsk>) => {
  const sampling = { messages: { template }, fields: { seed: 1 }, fieldsText: '{"seed":1}' }
  const { lines, misfit } = chatLines({ itemSchema: {}, sampling, items: people, model: 'm', start: 128, ...more })
  const texts = JSON.parse(Buffer.from(lines).toString()) as string[]
  return { misfit, chats: texts.map((text) => JSON.parse(text) as unknown) }
}

test('each item is a chat with its position in the run', () => {
  const { misfit, chats } = ask({})
  const line = { method: 'POST', url: '/v1/chat/completions' }
  const bodyOf = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }], seed: 1 })
  assert.equal(misfit, -1)
  assert.deepEqual(chats, [
    { custom_id: '128', ...line, body: bodyOf('Who is Ann?') },
    { custom_id: '129', ...line, body: bodyOf('Who is 7?') },
  ])
})

test('a conversation may be a part of the item, and the first item that does not fit the schema is named', () => {
  const sampling = { messages: { reference: 'item.said' }, fields: {}, fieldsText: '{}' }
  const itemSchema = { properties: { name: { type: 'string' } } }
  const one = bytesOf([{ item: { said: [{ role: 'user', content: 'Hi' }] } }])
  const [chat] = ask({ sampling, itemSchema, items: one }).chats as [{ body: { messages: unknown } }]
  assert.deepEqual(chat.body.messages, [{ role: 'user', content: 'Hi' }])
  assert.deepEqual(ask({ itemSchema }), { misfit: 1, chats: [] })
  assert.deepEqual(ask({ sampling: null }), { misfit: -1, chats: [] })
})

test('a chunk is filled in pieces, each with at least one item', () => {
  const text = 'x'.repeat(60_000)
  const items = bytesOf(Array.from({ length: 20 }, () => ({ item: { text }, sample: { output_text: 'a' } })))
  const criteria = [
    EvalCriterion.parse({
      ...{ type: 'string_check', name: 'c', operation: 'eq', reference: '{{sample.output_text}}' },
      input: '{{item.text}}'.repeat(30),
    }),
  ]
  const sizes: number[] = []
  for (let from = 0, isLast = false; !isLast;) {
    const piece = fillChunk({ criteria, items, answers: null, start: 0, from })
    assert.equal(piece.columns[0]?.length, piece.samples.length)
    sizes.push(piece.samples.length)
    from += piece.samples.length
    isLast = piece.isLast
  }
  assert.deepEqual(sizes, [5, 5, 5, 5])
})
