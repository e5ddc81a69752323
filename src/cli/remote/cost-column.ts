// The column of costs, which a table has where the operator has set prices.
import { moneyText } from '../../domain/money-text.ts'

export const costHead = (currency: string | undefined): string[] => (currency === undefined ? [] : ['COST'])

export const costCell = (micros: number | undefined, currency: string | undefined): string[] =>
  currency === undefined || micros === undefined ? [] : [moneyText(micros, currency)]
