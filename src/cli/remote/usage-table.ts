import { moneyText } from '../../domain/money-text.ts'
import { table } from './table.ts'

type Used = {
  prompts: number
  prompt_tokens: number
  completion_tokens: number
  training_seconds: number
  gpu_seconds: number
  cost_micros?: number | undefined
}

/**
 * Usage as a table: what each line is of, and its amounts. It has a column of costs if the operator has set prices.
 * @param columns the heads of what a line is of, each with its cell
 */
export function usageTable<Line extends Used>(
  { usage, currency }: { usage: readonly Line[]; currency?: string | undefined },
  columns: Record<string, (line: Line) => string | null | undefined>,
): string {
  const costHead = currency === undefined ? [] : ['COST']
  const costOf = (micros: number | undefined) =>
    currency === undefined || micros === undefined ? [] : [moneyText(micros, currency)]
  return table(
    [...Object.keys(columns), 'PROMPTS', 'TOKENS IN', 'TOKENS OUT', 'TRAINING S', 'GPU S', ...costHead],
    usage.map((line) => [
      ...Object.values(columns).map((cell) => cell(line) ?? ''),
      String(line.prompts),
      String(line.prompt_tokens),
      String(line.completion_tokens),
      line.training_seconds.toFixed(0),
      line.gpu_seconds.toFixed(0),
      ...costOf(line.cost_micros),
    ]),
  )
}
