// Texts that name parts of an item.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  filled,
  filledCharacters,
  isReference,
  MissingPart,
  referencesIn,
  TooLongTexts,
} from '../../src/domain/item-template.ts'

const values = { item: { name: 'Ann', tags: ['a', { b: 2 }], none: null }, sample: { output_text: '{{item.name}}' } }

test('texts stand as they are, other values as JSON', () => {
  assert.equal(
    filled('{{ item.name }}: {{item.tags[1].b}}, {{item.tags}}, {{item.none}}', values),
    'Ann: 2, ["a",{"b":2}], null',
  )
})

test('does not read a name inside a value', () => {
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
  for (const name of [`item.${'a'.repeat(300)}`, 'a', 'items.a', 'item.', 'item.a b', 'item[a]', ''])
    assert.ok(!isReference(name), name)
})

test('the texts of an item share a bound, also when a short template repeats a name', () => {
  const room = { characters: 50 }
  assert.equal(filled('{{item.name}}'.repeat(10), values, room).length, 30)
  assert.throws(() => filled('{{item.name}}'.repeat(10), values, room), TooLongTexts)
  const long = { item: { text: 'x'.repeat(700_000) } }
  assert.throws(() => filled('{{item.text}}'.repeat(400), long), new RegExp(String(filledCharacters)))
})

test('braces that are never closed are text', () => {
  for (const text of ['{{', '{{ item.name', '{{{item.name}', '{ {item.name}}']) assert.equal(filled(text, values), text)
  assert.equal(filled('{{{ item.name }}}', values), '{Ann}')
})
