// Generators for OpenAPI 3.0 stop at these words of 3.1. test/clients/generated.deep.test.ts runs the generators.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toOpenApi30 } from '../../../src/http/kit/openapi-3.0.ts'
import { startPublic } from '../support.ts'

const edge = await startPublic()
const { json: document } = await edge.call('GET', '/openapi.json?version=3.0', { key: null })

const schemasOf = (value: unknown): object[] =>
  typeof value !== 'object' || value === null ? [] : [value, ...Object.values(value).flatMap(schemasOf)]

/** The schema `A`, where `B` is another one that it may name. */
function written(A: object, B: object = {}) {
  const answer = { $ref: '#/components/schemas/A' }
  const { components } = toOpenApi30({
    info: { license: { identifier: 'MIT' } },
    paths: { '/': { get: { responses: { 200: { schema: answer } } } } },
    components: { schemas: { A, B } },
  }) as { components: { schemas: { A: object } } }
  return JSON.parse(JSON.stringify(components.schemas.A)) as unknown
}

test('the document has no word that 3.0 does not know', () => {
  assert.equal(document.openapi, '3.0.3')
  assert.equal(document.webhooks, undefined)
  for (const schema of schemasOf(document.components.schemas)) {
    const { type, properties } = schema as { type?: unknown; properties?: unknown }
    // A property may be named "type".
    if (properties === undefined && type !== undefined && typeof type !== 'object') assert.notEqual(type, 'null')
    for (const word of ['const', 'anyOf', 'oneOf', 'propertyNames', 'prefixItems'])
      assert.equal(Object.hasOwn(schema, word), false, JSON.stringify(schema))
    assert.equal(Array.isArray(type), false, JSON.stringify(schema))
  }
})

test('the document has each operation once, and the schemas that they use', () => {
  const operations = Object.values(document.paths as Record<string, object>).flatMap((each) => Object.values(each))
  assert.ok(operations.length > 80)
  assert.ok(operations.every(({ deprecated }) => deprecated === undefined))
  const named = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, id]) => String(id))
  assert.deepEqual([...new Set(named)].toSorted(), Object.keys(document.components.schemas).toSorted())
})

test('a value that may be null is nullable', () => {
  assert.deepEqual(written({ type: ['string', 'null'], maxLength: 3 }), {
    type: 'string',
    maxLength: 3,
    nullable: true,
  })
  assert.deepEqual(written({ anyOf: [{ $ref: '#/components/schemas/B' }, { type: 'null' }] }, { type: 'object' }), {
    type: 'object',
    allOf: [{ $ref: '#/components/schemas/B' }],
    nullable: true,
  })
})

test('a property that is always null is left out', () => {
  const properties = { server: { type: 'null' }, id: { type: 'string' } }
  assert.deepEqual(written({ type: 'object', properties, required: ['server'] }), {
    type: 'object',
    properties: { id: { type: 'string' } },
  })
})

test('a choice between objects is a single object with the fields that all of them require', () => {
  const job = {
    type: 'object',
    properties: { id: { type: 'string' }, rows: { type: 'integer' } },
    required: ['id', 'rows'],
  }
  const dryRun = { type: 'object', properties: { id: { type: 'null' }, rows: { type: 'integer' } }, required: ['rows'] }
  assert.deepEqual(written({ anyOf: [job, dryRun] }), {
    type: 'object',
    properties: { id: { type: 'string' }, rows: { type: 'integer' } },
    required: ['rows'],
  })
})

test('a choice between a value and a list is any value', () => {
  const choice = { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }], description: 'Prompts' }
  assert.deepEqual(written(choice), { description: 'Prompts' })
})

test('limits that exclude their value are written the older way', () => {
  assert.deepEqual(written({ type: 'number', exclusiveMinimum: 0, maximum: 1 }), {
    type: 'number',
    minimum: 0,
    exclusiveMinimum: true,
    maximum: 1,
  })
})

test('another version of OpenAPI is refused', async () => {
  const { status, json } = await edge.call('GET', '/openapi.json?version=2.0', { key: null })
  assert.equal(status, 400)
  assert.equal(json.detail, 'version must be one of "3.0", "3.1".')
})
