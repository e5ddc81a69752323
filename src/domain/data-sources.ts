// Several data sets in one job: rows are taken from each by its weight.
import type { Columns, DatasetReport } from './dataset-report.ts'

export const mostDataSources = 16

/** One of the data sets of a job. `weight`: its share of the visits, beside the weights of the others. */
export type DataSource = { datasetId: string; versionId: string; dataKey: string; weight: number }

/** What was prepared of a data set. Counts are of rows. */
export type PreparedSource = {
  rowCount: number
  trainRows: number
  heldOutRows: number
  /** Null without the model's tokenizer. */
  tokens: number | null
  etag: string
  columns?: Columns
}

/** A report whose data set is named in sentences, because the job has several. */
export type NamedReport = DatasetReport & { set?: string }

/** Where the rows of a job are: in one object, or in one for each data set. */
export const sourcesOf = ({
  spec,
  datasetVersionId: versionId,
}: {
  spec: { dataKey: string; sources?: DataSource[] }
  datasetVersionId: string
}): Pick<DataSource, 'dataKey' | 'versionId'>[] => spec.sources ?? [{ dataKey: spec.dataKey, versionId }]
