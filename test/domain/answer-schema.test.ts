import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { automatonOf, matches, shortestLength } from '../../src/domain/answer-schema/automaton.ts'
import { fitsSchema } from '../../src/domain/answer-schema/fits.ts'
import { formats, impliedPatterns } from '../../src/domain/answer-schema/formats.ts'
import { parsePattern } from '../../src/domain/answer-schema/pattern.ts'
import { readSchema } from '../../src/domain/answer-schema/read-schema.ts'
import { newWork } from '../../src/domain/answer-schema/work.ts'
import { ServiceError } from '../../src/domain/service-error.ts'

const pathOf = (schema: unknown) => {
  try {
    readSchema(schema, 'schema')
    return null
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return error.issues[0]?.path
  }
}
const field = (schema: object) => ({ type: 'object', properties: { 'a/b': schema } })

describe('a schema for answers', () => {
  it('takes null, empty texts and empty lists for absent keywords, as generators write them', () => {
    const empty = { enum: [], anyOf: [], allOf: null, $ref: '', format: '', pattern: null, items: null, required: [] }
    const read = (schema: unknown) => JSON.stringify(readSchema(schema, 'schema').nodes)
    assert.equal(read(field({ type: 'string', ...empty })), read(field({ type: 'string' })))
    assert.equal(read({ type: 'object', properties: [] }), read({ type: 'object', properties: {} }))
    assert.equal(read({ const: null }), read({ type: 'null' }))
  })

  it('takes formats that restrict nothing for annotations', () => {
    const read = (schema: unknown) => JSON.stringify(readSchema(schema, 'schema').nodes)
    for (const format of ['int32', 'int64', 'uint8', 'float', 'double', 'unix-time'])
      for (const type of ['integer', 'number', ['integer', 'null']])
        assert.equal(read(field({ type, format })), read(field({ type })), format)
    for (const format of ['int64', 'decimal', 'password', 'binary'])
      assert.equal(read(field({ type: 'string', format })), read(field({ type: 'string' })), format)
  })

  const decimals = [
    '0',
    '12',
    '-1.5',
    '+.5',
    '5.',
    '007',
    '1234.567',
    '123456.7',
    '0.00010',
    '99999.00',
    '.000001',
    '0.',
  ]
  const notDecimals = ['', '.', '-', '+.', '1e5', '1.2.3', ' 1', '1,5', 'x', '--1', 'NaN', '-.']
  const start = '^(?!^[-+.]*$)[+-]?0*'
  /** What pydantic writes for a Decimal; the second pattern is the same with the end that pydantic forgot. */
  const ofPydantic: [name: string, pattern: string, meant: string][] = [
    ['a Decimal', `${start}\\d*\\.?\\d*$`, `${start}\\d*\\.?\\d*$`],
    ...[0, 1, 2, 10].map((places): [string, string, string] => {
      const pattern = `${start}\\d*\\.?\\d{0,${places}}0*$`
      return [`decimal_places ${places}`, pattern, pattern]
    }),
    ...[1, 3, 5, 10].map((digits): [string, string, string] => {
      const tail = `|(?=[\\d.]{1,${digits + 1}}0*$)\\d*\\.\\d*0*$)`
      return [`max_digits ${digits}`, `${start}(?:\\d{0,${digits}}${tail}`, `${start}(?:\\d{0,${digits}}$${tail}`]
    }),
    ...[
      [10, 2],
      [3, 3],
      [5, 0],
      [2, 4],
    ].map(([digits = 0, places = 0]): [string, string, string] => {
      const whole = `\\d{0,${Math.max(0, digits - places)}}`
      const tail = `|(?=[\\d.]{1,${digits + 1}}0*$)${whole}\\.\\d{0,${places}}0*$)`
      return [
        `max_digits ${digits}, decimal_places ${places}`,
        `${start}(?:${whole}${tail}`,
        `${start}(?:${whole}$${tail}`,
      ]
    }),
  ]
  for (const [name, pattern, meant] of ofPydantic)
    it(`reads the pattern of pydantic for ${name} as the same numbers`, () => {
      const schema = readSchema({ type: 'string', pattern }, 'schema')
      for (const text of [...decimals, ...notDecimals])
        assert.equal(fitsSchema(schema, JSON.stringify(text)), new RegExp(meant).test(text), text)
      for (let value = 0; value < 3000; value += 7)
        for (const text of [
          `${value}`,
          `${value / 100}`,
          `-0${value}.0`,
          `.${value}00`,
          `00.${value}`,
          `${value}.${value}`,
        ])
          assert.equal(fitsSchema(schema, JSON.stringify(text)), new RegExp(meant).test(text), text)
    })

  it('reads the patterns of newer pydantic for a Decimal as they are', () => {
    for (const pattern of [
      '^[+-]?(?:(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$',
      '^-?(?:(?:0|[1-9][0-9]{0,7})(?:\\.[0-9]{1,2}0*)?|0E[+-][1-9][0-9]*|[1-9](?:\\.[0-9]+)?E\\+[1-7])$',
    ])
      assert.ok(fitsSchema(readSchema({ type: 'string', pattern }, 'schema'), '"12.50"'))
  })

  const refused: [string, unknown][] = [
    ['schema#/properties/a~1b/pattern', field({ type: 'string', pattern: '^(?!^[-+.]*$)[+-]?0*\\d*x$' })],
    ['schema#', []],
    ['schema#/type', { type: 'text' }],
    ['schema#/type', { description: 'no type', minLength: 1 }],
    ['schema#/patternProperties', { type: 'object', patternProperties: {} }],
    ['schema#/required', { type: 'object', properties: {}, required: ['a'] }],
    ['schema#/properties/a~1b/not', field({ not: {} })],
    ['schema#/properties/a~1b/minLength', field({ type: 'integer', minLength: 2 })],
    ['schema#/properties/a~1b/pattern', field({ type: 'string', pattern: '(?=a)b' })],
    ['schema#/properties/a~1b/pattern', field({ type: 'string', pattern: '(a)\\1' })],
    ['schema#/properties/a~1b/pattern', field({ type: 'string', pattern: 'a{1,100000}' })],
    ['schema#/properties/a~1b/format', field({ type: 'string', format: 'color' })],
    ['schema#/properties/a~1b', field({ type: 'string', pattern: '^a{3}$', maxLength: 2 })],
    ['schema#/properties/a~1b', field({ type: 'integer', minimum: 3, maximum: 2 })],
    ['schema#/properties/a~1b', field({ type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 4 })],
    ['schema#/properties/a~1b/multipleOf', field({ type: 'number', multipleOf: 0.3 })],
    ['schema#/properties/a~1b/uniqueItems', field({ type: 'array', uniqueItems: true })],
    ['schema#/properties/a~1b/minItems', field({ type: 'array', minItems: 3, maxItems: 2 })],
    ['schema#/properties/a~1b/$ref', field({ $ref: '#/$defs/Absent' })],
    ['schema#/properties/a~1b/$ref', field({ $ref: 'https://example.com/schema' })],
    ['schema#/properties/a~1b/allOf', field({ allOf: [{ type: 'string' }, { minLength: 2 }] })],
    ['schema#/properties/a~1b', field({ oneOf: [{ type: 'string' }, { const: 'a' }] })],
    ['schema#/properties/a~1b/enum', field({ type: 'integer', enum: ['a'] })],
    [
      'schema#/$defs/A',
      { $ref: '#/$defs/A', $defs: { A: { type: 'array', items: { $ref: '#/$defs/A' }, minItems: 1 } } },
    ],
  ]
  for (const [path, schema] of refused)
    it(`is refused at ${path}: ${JSON.stringify(schema).slice(0, 90)}`, () => {
      const found = pathOf(schema)
      // Each part of an endless chain is a right place to name.
      assert.ok(found === path || (path === 'schema#/$defs/A' && found === 'schema#'), String(found))
    })

  it('names its keys by a reference', () => {
    const color = { $defs: { Color: { enum: ['red', 'blue'], type: 'string' } } }
    const schema = { ...color, type: 'object', propertyNames: { $ref: '#/$defs/Color' }, additionalProperties: true }
    assert.ok(fitsSchema(readSchema(schema, 'x'), '{"red": 1}'))
    assert.ok(!fitsSchema(readSchema(schema, 'x'), '{"green": 1}'))
  })

  it('is refused where its alternatives take too long to tell apart', () => {
    const many = (name: string) => ({ anyOf: Array.from({ length: 300 }, () => ({ $ref: `#/$defs/${name}` })) })
    const $defs = { s1: many('s0'), s0: { type: 'string' }, i1: many('i0'), i0: { type: 'integer' } }
    assert.throws(
      () => readSchema({ $defs, oneOf: [many('s1'), many('i1')] }, 'x'),
      /x# makes the schemas of the request too large/,
    )
  })

  it('may refer to itself, have a discriminator, and leave fields out', () => {
    const leaf = { type: 'object', properties: { kind: { const: 'leaf' }, n: { type: 'integer' } }, required: ['kind'] }
    const fork = {
      type: 'object',
      properties: { kind: { const: 'fork' }, of: { type: 'array', items: { $ref: '#' } } },
      required: ['kind', 'of'],
    }
    const tree = readSchema({ oneOf: [leaf, fork], discriminator: { propertyName: 'kind' } }, 'schema')
    const fits = (value: unknown) => fitsSchema(tree, JSON.stringify(value))
    assert.ok(fits({ kind: 'fork', of: [{ kind: 'leaf' }, { kind: 'fork', of: [{ kind: 'leaf', n: 3 }] }] }))
    for (const wrong of [
      { kind: 'fork' },
      { kind: 'fork', of: [{}] },
      { kind: 'leaf', n: 0.5 },
      { kind: 'leaf', m: 1 },
      [],
    ])
      assert.ok(!fits(wrong), JSON.stringify(wrong))
    assert.ok(!fitsSchema(tree, '{"kind":"leaf"'))
  })
})

describe('a pattern', () => {
  const sources = [
    '^[a-c]+$',
    'b|^x',
    '^(?:a|bc){2,3}$',
    '^a?b*c$',
    '\\d{2}',
    '^[^a\\]-]$',
    '^(?<year>\\d+)\\.$',
    '^$',
    '\\w\\s\\S',
    '^.$',
    '[\\u0061-\\x7a]$',
    '',
  ]
  const texts = [
    '',
    'a',
    'b',
    'c',
    'abc',
    'bcbc',
    'abca',
    'x12',
    '2024.',
    '-',
    ']',
    'a b',
    '\n',
    '🎉',
    'ß',
    'aab',
    'bx',
    'b\tz',
  ]
  it('matches the same texts as a regular expression of JavaScript', () => {
    for (const source of sources) {
      const automaton = automatonOf(parsePattern(source))
      for (const text of texts)
        assert.equal(
          matches(automaton, text),
          new RegExp(source, 'u').test(text),
          `${source} on ${JSON.stringify(text)}`,
        )
    }
  })

  it('is checked in a time that is linear in the text', () => {
    const automaton = automatonOf(parsePattern('^(?:a+)+$'))
    assert.ok(!matches(automaton, `${'a'.repeat(4000)}b`))
  })

  it('has a shortest text, also together with others', () => {
    const shortest = (least: number, ...patterns: string[]) =>
      shortestLength(
        patterns.map((source) => automatonOf(parsePattern(source))),
        { minimum: least, maximum: 100, work: newWork() },
      )
    assert.equal(shortest(3, '^(?:ab)*$'), 4)
    assert.equal(shortest(0, '^(?:ab)*$', '^(?:...)+$'), 6)
    assert.equal(shortest(3, '^a{2}$'), null)
  })

  it('is refused, however short, when it is costly', () => {
    const costly = {
      repetitions: '^((((){1000}){1000}){1000}){1000}$',
      groups: '('.repeat(20_000),
    }
    for (const [name, pattern] of Object.entries(costly))
      assert.throws(() => readSchema({ type: 'string', pattern }, 'x'), /x#\/pattern /, name)
    const long = { type: 'string', minLength: 4096, pattern: '^(?:a?){1000}x*$' }
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`p${at}`, long]))
    assert.throws(
      () => readSchema({ type: 'object', properties }, 'x'),
      /x#\/properties\/p\d+ makes the schemas of the request too large/,
    )
  })

  it('is understood for every format, and for an email equals the pattern of zod', () => {
    for (const [name, source] of Object.entries(formats)) assert.ok(automatonOf(parsePattern(source)), name)
    const zods = new RegExp(impliedPatterns['email'] ?? assert.fail(), 'u')
    const ours = automatonOf(parsePattern(formats['email'] ?? assert.fail()))
    for (const address of ['a@b.cd', 'a.b+c@x1.y-z.example', '_@b.cd']) {
      assert.ok(matches(ours, address) && zods.test(address), address)
    }
    for (const address of ['.a@b.cd', 'a..b@c.de', 'a@b']) assert.ok(!matches(ours, address), address)
  })
})
