import type { DatasetReport } from '../domain/dataset-report.ts'

/** Thrown for data that cannot be trained on. The message names the first bad rows. */
export class DatasetInvalidError extends Error {
  override name = 'DatasetInvalidError'
  readonly report: DatasetReport | undefined

  constructor(message: string, report?: DatasetReport) {
    super(message)
    this.report = report
  }
}

const badRowsInMessage = 5

/** @returns why the data cannot be trained on, or null when it can */
export function invalidDataReason(name: string, { rowCount, badRowCount, badRows }: DatasetReport): string | null {
  if (rowCount === 0) return `The ${name} has no rows.`
  if (badRowCount === 0) return null
  const listed = badRows
    .slice(0, badRowsInMessage)
    .map(({ line, field, reason }) => `line ${line}: ${field}: ${reason}`)
  const more = badRowCount > badRowsInMessage ? `; and ${badRowCount - badRowsInMessage} more` : ''
  return `The ${name} cannot be used: ${badRowCount} of ${rowCount} rows are bad: ${listed.join('; ')}${more}.`
}
