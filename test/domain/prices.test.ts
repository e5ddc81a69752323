import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { z } from 'zod'
import { moneyText } from '../../src/domain/money-text.ts'
import { costMicros, Prices } from '../../src/domain/prices.ts'

const read = (list: object) => Prices.parse(JSON.stringify(list))
const prices = read({
  currency: 'EUR',
  perGpuHour: 2.5,
  perTrainingHour: 0.1,
  perMillionPromptTokens: 0.2,
  perMillionCompletionTokens: 0.6,
  perMillionEmbeddingTokens: 0.02,
})

suite('prices', () => {
  test('give whole millionths of the currency, for large amounts too', () => {
    const half = { trainingSeconds: 1800, trainingGpuSeconds: 4 * 1800 }
    assert.equal(costMicros(prices, half), 5_000_000 + 50_000)
    const tokens = { promptTokens: 3_000_000, embeddedTokens: 1_000_000, completionTokens: 1_000_000 }
    assert.equal(costMicros(prices, tokens), 400_000 + 20_000 + 600_000)
    assert.equal(costMicros(prices, { promptTokens: 1e12 }), 2e11)
    assert.equal(costMicros(read({ currency: 'EUR', perGpuHour: 0.1 }), { trainingGpuSeconds: 3 * 3600 }), 300_000)
    assert.equal(costMicros(prices, {}), 0)
  })

  test('are refused by name', () => {
    const refusals: [string, RegExp][] = [
      ['2.5', /expected object/],
      ['{currency: EUR}', /must be JSON, such as/],
      [JSON.stringify({ currency: 'EUR' }), /must have a price/],
      [JSON.stringify({ currency: 'euro', perGpuHour: 1 }), /three letters of a currency[^]*currency/],
      [JSON.stringify({ currency: 'EUR', perGpuHour: '1' }), /must be a number[^]*perGpuHour/],
      [JSON.stringify({ currency: 'EUR', perGpuHour: -1 }), /must not be negative/],
      [JSON.stringify({ currency: 'EUR', perGpuHour: 0.1234567 }), /six decimals/],
      [JSON.stringify({ currency: 'EUR', perGpuHour: 1, gpuHour: 1 }), /gpuHour/],
    ]
    for (const [text, says] of refusals) {
      const { error } = Prices.safeParse(text)
      assert.match(error ? z.prettifyError(error) : 'taken', says, text)
    }
  })
})

test('an amount reads in cents, and below a cent in its own digits', () => {
  assert.deepEqual(
    [12_340_000, 0, 9_999, 120, -5_000_000].map((micros) => moneyText(micros, 'EUR')),
    ['12.34 EUR', '0.00 EUR', '0.009999 EUR', '0.00012 EUR', '-5.00 EUR'],
  )
})
