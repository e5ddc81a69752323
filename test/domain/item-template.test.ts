// Texts that name parts of an item.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filled, isReference, MissingPart, referencesIn } from '../../src/domain/item-template.ts'

const values = { item: { name: 'Ann', tags: ['a', { b: 2 }], none: null }, sample: { output_text: '{{item.name}}' } }

test('texts stand as they are, other values as JSON', () => {
  assert.equal(
    filled('{{ item.name }}: {{item.tags[1].b}}, {{item.tags}}, {{item.none}}', values),
    'Ann: 2, ["a",{"b":2}], null',
  )
})

test('what a value says is not read as a name again', () => {
  assert.equal(filled('{{sample.output_text}}', values), '{{item.name}}')
})

test('a part that is not there is named', () => {
  for (const name of ['item.age', 'item.name.first', 'item.tags[2]', 'item.constructor', 'sample.output_json'])
    assert.throws(
      () => filled(`{{${name}}}`, values),
      (error) => error instanceof MissingPart && error.message.includes(name),
    )
})

test('names are paths into the item or the sample', () => {
  assert.deepEqual(referencesIn('{{item.a}} {{ sample.output_text }} {b}'), ['item.a', 'sample.output_text'])
  for (const name of ['item', 'item.a', 'item.a[0].b-c', 'sample.output_json.x']) assert.ok(isReference(name), name)
  for (const name of ['a', 'items.a', 'item.', 'item.a b', 'item[a]', '']) assert.ok(!isReference(name), name)
})
