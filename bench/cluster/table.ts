import { median, quantile } from '../stack.ts'

/** Texts with units. A measurement without a baseline has no `baseline` and no `compared`. */
export type Measured = { measure: string; seen: string; baseline?: string; compared?: string; target: string }

const columns = ['measure', 'seen', 'baseline', 'compared', 'target'] as const
const heading = { measure: 'measure', seen: 'seen', baseline: 'baseline', compared: 'compared', target: 'target' }

export function printTable(rows: Measured[]) {
  const lines = [heading, ...rows].map((row) => columns.map((column) => row[column] ?? ''))
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const padded = lines.map((line) => line.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  '))
  console.log(`\n${padded.map((line) => line.trimEnd()).join('\n')}`)
}

export const lagOf = (measure: string, lags: number[]): Measured => ({
  measure,
  seen: spread(lags),
  target: 'p50 ≤ 100 ms, p99 ≤ 500 ms',
})

export const ms = (value: number) => `${value.toFixed(0)} ms`
export const seconds = (valueMs: number) => `${(valueMs / 1000).toFixed(2)} s`
export const spread = (times: number[]) => `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}`
