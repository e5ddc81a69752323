// What work costs by the prices that the operator has set. Sums of money are whole millionths of the currency.
import { z } from 'zod'
import type { PricedParts, UsageAmount } from './usage.ts'

const microsPerUnit = 1e6
const tokensPerPrice = 1e6
const secondsPerHour = 3600

const hasSixDecimals = (price: number) => /^\d+(\.\d{1,6})?$/.test(String(price))

const Price = z
  .number('must be a number, such as 2.5')
  .min(0, 'must not be negative')
  .max(1_000_000, 'must be at most 1000000')
  .refine(hasSixDecimals, 'must have at most six decimals')
  .optional()

const threeLetters = 'must be the three letters of a currency, such as EUR'

const PriceList = z
  .strictObject({
    currency: z.string(threeLetters).regex(/^[A-Z]{3}$/, threeLetters),
    /** One GPU for one hour of a training. */
    perGpuHour: Price,
    /** One training program for one hour, with or without GPUs. */
    perTrainingHour: Price,
    perMillionPromptTokens: Price,
    perMillionCompletionTokens: Price,
    /** Tokens that embedding models read. */
    perMillionEmbeddingTokens: Price,
  })
  .refine(
    ({ currency: _currency, ...prices }) => Object.values(prices).some((price) => price !== undefined),
    'must have a price, such as "perGpuHour": 2.5',
  )
export type Prices = z.output<typeof PriceList>

/** A price list as JSON text. */
export const Prices = z
  .string()
  .transform((text, ctx): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      ctx.addIssue('must be JSON, such as {"currency": "EUR", "perGpuHour": 2.5}')
      return z.NEVER
    }
  })
  .pipe(PriceList)

type PricedWork = Pick<UsageAmount, 'trainingSeconds' | 'promptTokens' | 'completionTokens'> & PricedParts

const nothing: PricedWork = {
  trainingSeconds: 0,
  trainingGpuSeconds: 0,
  promptTokens: 0,
  embeddedTokens: 0,
  completionTokens: 0,
}

/** @returns whole millionths of the currency, rounded once */
export function costMicros(prices: Prices, done: Partial<PricedWork>): number {
  const work = { ...nothing, ...done }
  const hours =
    work.trainingSeconds * micros(prices.perTrainingHour) + work.trainingGpuSeconds * micros(prices.perGpuHour)
  const tokens =
    (work.promptTokens - work.embeddedTokens) * micros(prices.perMillionPromptTokens) +
    work.embeddedTokens * micros(prices.perMillionEmbeddingTokens) +
    work.completionTokens * micros(prices.perMillionCompletionTokens)
  return Math.round(hours / secondsPerHour + tokens / tokensPerPrice)
}

const micros = (price = 0) => Math.round(price * microsPerUnit)
