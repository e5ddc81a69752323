import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readSchema } from '../../../src/domain/answer-schema/read-schema.ts'
import { parseJson } from '../../../src/http/kit/key-order.ts'

const schemaOf = (properties: string, more = '') => `{"type": "object", "properties": {${properties}}${more}}`
const namesIn = (text: string) => {
  const { nodes, root } = readSchema(parseJson(text), 'schema')
  const node = nodes[root]
  assert.equal(node?.kind, 'object')
  return node.members.map(({ name }) => name)
}

suite('The order of the properties of a schema', () => {
  test('is that of the text, also where names are numbers', () => {
    const properties =
      '"b": {"type": "string"}, "2": {"type": "string"}, "10" : {"type": "string"}, "a": {"type": "string"}, "1": {"type": "null"}'
    assert.deepEqual(namesIn(schemaOf(properties)), ['b', '2', '10', 'a', '1'])
    assert.deepEqual(Object.keys(JSON.parse(schemaOf(properties)).properties), ['1', '2', '10', 'b', 'a'])
  })

  test('is that of propertyOrdering, and of the text for the other properties', () => {
    const properties = '"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}'
    assert.deepEqual(namesIn(schemaOf(properties, ', "propertyOrdering": ["c", "other", "a"]')), ['c', 'a', 'b'])
    assert.deepEqual(namesIn(schemaOf(properties, ', "propertyOrdering": "none"')), ['a', 'b', 'c'])
  })

  test('is kept in schemas at any depth, and adds nothing elsewhere', () => {
    const inner = schemaOf('"b": {}, "1": {}')
    const { tools, rows, order } = parseJson(
      `{"tools": [{"parameters": ${schemaOf(`"x": ${inner}`)}}], "rows": {"b": 1, "1": 2}, "order": ${schemaOf('"b": {}, "c": {}')}}`,
    ) as Record<string, unknown>
    const ordered = { type: 'object', properties: { b: {}, 1: {} }, propertyOrdering: ['b', '1'] }
    assert.deepEqual(tools, [{ parameters: { type: 'object', properties: { x: ordered } } }])
    assert.deepEqual(rows, { b: 1, 1: 2 })
    assert.deepEqual(order, { type: 'object', properties: { b: {}, c: {} } })
  })

  test('reads every text as JSON.parse does, but for the order', () => {
    for (const tricky of [
      String.raw`{"say \"1": 1, "\"1\":": "a \"2\": b", "\\": {"3": 4}}`,
      '{"type": "object", "properties": {"a": "\\\\", "1": ["0", "1"], "01": 0, "4294967296": 1, "__proto__": {"7": 1}}}',
      '{"type": ["object", "null"], "properties": [{"1": 2}]}',
      '"properties"',
      `{"${'\uE000'}1": 1, "1": {"properties": {"2": 3}}}`,
    ])
      for (const text of [tricky, `{"properties": {"9": 1}, "more": ${tricky}}`]) {
        const read = JSON.parse(JSON.stringify(parseJson(text)), (key, value: unknown) =>
          key === 'propertyOrdering' ? undefined : value,
        )
        assert.deepEqual(read, JSON.parse(text), text)
      }
    assert.throws(() => parseJson('{"properties": {"1": }}'), SyntaxError)
  })
})
