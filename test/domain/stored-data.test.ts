import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  collectionDatasetId,
  itemHash,
  itemText,
  readFormat,
  readItem,
  trainingRow,
} from '../../src/domain/stored-data.ts'

const read = (value: unknown) => readItem(value, 'data[0]', readFormat(value, null))

test('a single field reads as its value, several fields with their names, objects in order', () => {
  assert.equal(itemText(read({ fact: { text: 'The port is 7331.' } })), 'The port is 7331.')
  assert.equal(
    itemText(read({ product: { name: 'Lamp', price: 12.5, sold: false } })),
    'name: Lamp, price: 12.5, sold: false',
  )
  assert.equal(itemText(read({ q: { text: 'Why?' }, a: { text: 'So.' } })), 'Why? So.')
})

test('two objects train as input and output, one as text', () => {
  assert.deepEqual(trainingRow(read({ q: { text: 'Why?', n: 1 }, a: { text: 'So.' } })), {
    input: 'text: Why?, n: 1',
    output: 'So.',
  })
  assert.deepEqual(trainingRow(read({ fact: { text: 'So.' } })), { text: 'So.' })
})

test('the first item says which object is the input', () => {
  const format = readFormat({ q: { text: 'a' }, a: { text: 'b' } }, null)
  const item = readItem({ a: { text: 'd' }, q: { text: 'c' } }, 'data[1]', format)
  assert.deepEqual(trainingRow(item), { input: 'c', output: 'd' })
})

test('rows are the same in any order of their fields, and differ by values, types and objects', () => {
  const same = [{ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }].map((each) => itemHash(read(each)).toString('hex'))
  assert.equal(same[0], same[1])
  const others = [{ a: { x: 1, y: '2' } }, { b: { x: 1, y: 2 } }, { a: { x: 1 }, b: { y: 2 } }]
  assert.equal(new Set([...same, ...others.map((each) => itemHash(read(each)).toString('hex'))]).size, 4)
})

test('names of prototypes are names like others', () => {
  const item = read(JSON.parse('{"__proto__": {"constructor": "x", "__proto__": "y"}}'))
  assert.equal(itemText(item), 'constructor: x, __proto__: y')
})

test('a number that JSON cannot carry is refused', () => {
  assert.throws(() => read(JSON.parse('{"a": {"x": 1e999}}')), /data\[0\]\.a\.x must be/)
})

test('the data set of a collection belongs to its account', () => {
  assert.notEqual(collectionDatasetId('one', 'facts'), collectionDatasetId('two', 'facts'))
})
