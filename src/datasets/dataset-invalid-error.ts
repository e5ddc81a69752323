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
