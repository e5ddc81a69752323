import type { NamedReport } from '../domain/data-sources.ts'

/** Thrown for data that cannot be trained on. The message names the first bad rows. */
export class DatasetInvalidError extends Error {
  override name = 'DatasetInvalidError'
  readonly report: NamedReport | undefined

  constructor(message: string, report?: NamedReport) {
    super(message)
    this.report = report
  }
}
