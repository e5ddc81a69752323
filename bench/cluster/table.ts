import { median, quantile } from '../stack.ts'

/** Texts, with their units. Without `peer` and `compared` there is nothing to compare with. */
export type Measured = { measure: string; seen: string; peer?: string; compared?: string; target: string }

const columns = ['measure', 'seen', 'peer', 'compared', 'target'] as const
const heading = { measure: 'measure', seen: 'seen', peer: 'by hand', compared: 'compared', target: 'target' }

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
