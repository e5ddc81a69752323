import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOutputType } from '../../src/domain/output-type.ts'
import { ServiceError } from '../../src/domain/service-error.ts'

const pathOf = (value: unknown) => {
  try {
    parseOutputType(value)
    return null
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_input')
    return error.issues[0]?.path
  }
}

describe('output types', () => {
  it('reads every spelling of a type, and lists as enums', () => {
    const fields = parseOutputType({ a: 'str', b: '#string', c: 'int', d: 'integer', e: '#float', f: 'number', g: 'bool', h: 'boolean', i: ['x', 1, 1, true] }) // prettier-ignore
    assert.deepEqual(
      fields?.map(({ type }) => type.kind),
      ['str', 'str', 'int', 'int', 'float', 'float', 'bool', 'bool', 'enum'],
    )
    assert.deepEqual(fields?.at(-1), { name: 'i', type: { kind: 'enum', values: ['x', 1, true] } })
  })

  it('takes null and an empty object as untyped', () => {
    for (const value of [null, undefined, {}]) assert.equal(parseOutputType(value), null)
  })

  it('refuses a value that is no type, naming the field', () => {
    for (const type of [
      'string!',
      'Str',
      '',
      '##int',
      'toString',
      'constructor',
      null,
      1,
      {},
      [],
      [null],
      [['a']],
      [NaN],
      ['\ud800'],
    ])
      // prettier-ignore
      assert.equal(pathOf({ field: type }), 'output_type.field', JSON.stringify(type))
    for (const value of ['str', 3, ['str'], true]) assert.equal(pathOf(value), 'output_type')
  })

  it('refuses names that are empty, too long, half a character, or a way into the prototype', () => {
    const refused = ['', 'x'.repeat(65), '\ud800', '__proto__', 'constructor', 'prototype']
    for (const name of refused)
      assert.ok(pathOf(JSON.parse(`{${JSON.stringify(name)}:"str"}`))?.startsWith('output_type.'), name)
    for (const name of ['x'.repeat(64), '🎉'.repeat(64), '"\n', ' ']) assert.equal(pathOf({ [name]: 'str' }), null)
  })

  it('refuses more than 64 fields, and enums beyond measure', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, 'int']))
    assert.equal(pathOf(fields(64)), null)
    assert.equal(pathOf(fields(65)), 'output_type')
    assert.equal(pathOf({ huge: Array.from({ length: 10_000 }, (_, at) => `value ${at}`) }), 'output_type')
  })
})
