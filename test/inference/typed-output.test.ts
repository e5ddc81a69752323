import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OutputField } from '../../src/domain/output-type.ts'
import { createAnswerParser, maxDigits, structureBytes, typedOutputRegex } from '../../src/inference/typed-output.ts'
import { createRandom } from './support/random.ts'
import { randomFields, randomInteger, randomValue } from './support/random-types.ts'

const characters = 20
const full = { characters, digits: maxDigits }
const accepts = (fields: OutputField[], text: string) =>
  new RegExp(`^${typedOutputRegex(fields, full)}$`, 'u').test(text)
const one = (type: OutputField['type']): OutputField[] => [{ name: 'x', type }]
const members = (fields: OutputField[], values: unknown[]) =>
  fields.map(({ name }, at) => `${JSON.stringify(name)}:${JSON.stringify(values[at])}`)

describe('the grammar of a typed answer', () => {
  it('accepts the JSON of every value, and the parser gives the value back', () => {
    for (let seed = 0; seed < 3000; seed++) {
      const random = createRandom(seed)
      const fields = randomFields(random)
      const values = fields.map(({ type }) => randomValue(random, type, characters))
      const text = `{${members(fields, values).join(',')}}`
      assert.ok(accepts(fields, text), `seed ${seed}: ${text}`)
      const answer = createAnswerParser(fields)(text)
      assert.ok(answer, `seed ${seed}: ${text}`)
      assert.deepEqual(JSON.parse(JSON.stringify(answer)), JSON.parse(text), `seed ${seed}`)
      const longest = structureBytes(fields) + 6 * characters * fields.filter(({ type }) => type.kind === 'str').length
      assert.ok(Buffer.byteLength(text) <= longest, `seed ${seed}: ${text} is longer than ${longest} bytes`)
    }
  })

  it('refuses every corruption, and so does the parser', () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = createRandom(seed)
      const fields = randomFields(random)
      const values = fields.map(({ type }) => randomValue(random, type, characters))
      const parts = members(fields, values)
      const text = `{${parts.join(',')}}`
      const at = random.below(fields.length)
      const field = fields[at] as OutputField
      const wrong = parts.with(at, `${JSON.stringify(field.name)}:${wrongValue(field)}`)
      const corrupted = {
        'a field missing': `{${parts.toSpliced(at, 1).join(',')}}`,
        'a field twice': `{${parts.toSpliced(at, 0, parts[at] as string).join(',')}}`,
        'a field too many': `{${[...parts, '"other":1'].join(',')}}`,
        'a blank': text.replace(':', ': '),
        'something after it': `${text} `,
        'cut short': text.slice(0, -1 - random.below(Math.min(text.length - 1, 5))),
        'a wrong value': `{${wrong.join(',')}}`,
        ...(fields.length > 1 && { 'another order': `{${parts.toReversed().join(',')}}` }),
      }
      for (const [what, corruption] of Object.entries(corrupted)) {
        assert.ok(!accepts(fields, corruption), `seed ${seed}: ${what}: ${corruption}`)
        assert.equal(createAnswerParser(fields)(corruption), null, `seed ${seed}: ${what}: ${corruption}`)
      }
    }
  })

  it('keeps integers within the exact range of a double', () => {
    const fields = one({ kind: 'int' })
    for (const text of ['0', '-1', '9007199254740991', '-9007199254740991', '999999999999999', '9007199254740899'])
      assert.ok(accepts(fields, `{"x":${text}}`), text)
    for (const text of [
      '9007199254740992',
      '-9007199254740992',
      '9100000000000000',
      '10000000000000000',
      '-0',
      '01',
      '1.0',
      '1e3',
      '+1',
      '',
    ])
      // prettier-ignore
      assert.ok(!accepts(fields, `{"x":${text}}`), text)
    const random = createRandom(1)
    for (let count = 0; count < 2000; count++) {
      const near = 9007199254740991n + BigInt(random.below(2000)) - 1000n
      assert.equal(accepts(fields, `{"x":${near}}`), near <= 9007199254740991n, String(near))
    }
  })

  it('keeps floats finite, and written as floats', () => {
    const fields = one({ kind: 'float' })
    const parse = createAnswerParser(fields)
    for (const text of ['NaN', 'Infinity', '1e999', '1e100', '.5', '1.', '1234567890123456', '0x1', 'null'])
      assert.equal(parse(`{"x":${text}}`), null, text)
    const written = (text: string) => JSON.stringify(parse(`{"x":${text}}`))
    assert.equal(written('3'), '{"x":3.0}')
    assert.equal(written('-0.0'), '{"x":0.0}')
    assert.equal(written('2.50'), '{"x":2.5}')
    assert.equal(written('1e3'), '{"x":1000.0}')
    assert.equal(written('1e21'), '{"x":1e+21}')
  })

  it('lets no half surrogate, NUL or raw control character into a string', () => {
    const fields = one({ kind: 'str' })
    for (const text of ['\\ud800', '\\udc00', '\\u0000', '\u0000', '\n', '\\x', '"'])
      assert.equal(createAnswerParser(fields)(`{"x":"${text}"}`), null, JSON.stringify(text))
    assert.equal(createAnswerParser(fields)('{"x":"\ud800"}'), null)
  })

  it('bounds strings by characters and numbers by digits', () => {
    const shape = (fields: OutputField[], digits: number) =>
      new RegExp(`^${typedOutputRegex(fields, { characters: 4, digits })}$`, 'u')
    assert.ok(shape(one({ kind: 'str' }), 8).test('{"x":"🎉\\n日\\u001f"}'))
    assert.ok(!shape(one({ kind: 'str' }), 8).test('{"x":"12345"}'))
    for (const [type, allowed, tooLong] of [
      ['int', '-99', '100'],
      ['float', '-99.99', '1.123'],
    ] as const) {
      assert.ok(shape(one({ kind: type }), 2).test(`{"x":${allowed}}`))
      assert.ok(!shape(one({ kind: type }), 2).test(`{"x":${tooLong}}`))
    }
  })

  it('makes plain objects of awkward names', () => {
    for (const name of ['toString', 'hasOwnProperty', '0', 'a.b', ' ']) {
      const answer = createAnswerParser([{ name, type: { kind: 'int' } }])(`{${JSON.stringify(name)}:1}`)
      assert.deepEqual(answer, { [name]: 1 })
    }
  })
})

function wrongValue({ type }: OutputField): string {
  switch (type.kind) {
    case 'str':
      return '1'
    case 'int':
      return String(Math.abs(randomInteger(createRandom(1))) + 0.5)
    case 'float':
      return '"1.5"'
    case 'bool':
      return '1'
    case 'enum':
      return '"never one of these values"'
  }
}
