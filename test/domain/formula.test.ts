import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FormulaError, parseFormula } from '../../src/domain/formula.ts'

const valueOf = (text: string, values: Record<string, number> = {}) => parseFormula(text, Object.keys(values))(values)

test('follows the usual order of operations', () => {
  assert.equal(valueOf('1 + 2 * 3 - 4 / 2'), 5)
  assert.equal(valueOf('(1 + 2) * -3'), -9)
  assert.equal(valueOf('2^3^2'), 512)
  assert.equal(valueOf('-2^2'), -4)
  assert.equal(valueOf('2^-1'), 0.5)
  assert.equal(valueOf('10 - 2 - 3'), 5)
  assert.equal(valueOf('.5e1 + 1.5'), 6.5)
})

test('knows the names and the functions of graders', () => {
  assert.equal(valueOf('0.5 * name + 0.5 * max(email, 0.2, abs(-0.4))', { name: 1, email: 0 }), 0.7)
  assert.equal(valueOf('floor(1.7) + ceil(0.2) + sqrt(4) + exp(0) + log(1)'), 5)
  assert.equal(valueOf('min + 1', { min: 1 }), 2)
  assert.equal(valueOf('a / 0', { a: 1 }), null)
})

test('refuses a text that is no formula, by a phrase that follows its name', () => {
  const refused = (text: string, phrase: RegExp) =>
    assert.throws(
      () => valueOf(text, { a: 1 }),
      (error) => error instanceof FormulaError && phrase.test(error.message),
      text,
    )
  refused('a +', /ends where a number/)
  refused('b', /names "b", which is none/)
  refused('constructor(1)', /has the function "constructor"; use min/)
  refused('abs(1, 2)', /gives abs more than one number/)
  refused('(a', /has its end where "\)"/)
  refused('a a', /has "a" where its end/)
  refused('a; a', /has ";", which it may not/)
  refused('('.repeat(100_000), /nested more than 100/)
  refused(`1${'^1'.repeat(500)}`, /nested more than 100/)
})
