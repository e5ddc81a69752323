// What a check of a data set found.

export type LengthPercentiles = { p50: number; p90: number; p99: number; max: number }

/** Of a sample of the rows, in tokens of the named model. */
export type TokenLengths = {
  tokenizer: string
  sampledRows: number
  input: LengthPercentiles
  output: LengthPercentiles
}

export type BadRow = { line: number; field: string; reason: string }

export type DatasetReport = {
  /** Of the checked bytes, as the object store names their content. */
  etag: string
  /** As uploaded. */
  sizeBytes: number
  rowCount: number
  badRowCount: number
  /** The first 100. */
  badRows: BadRow[]
  /** Rows equal to an earlier one; counted among the first three million different rows. */
  duplicateCount: number
  /** Rows whose output is missing text: bad when it is "", allowed when it is white space. */
  emptyOutputCount: number
  /** In characters, within 1.1 %. */
  inputLength: LengthPercentiles
  outputLength: LengthPercentiles
  /** Null where the model's tokenizer is not on this machine; absent in reports made before there was one. */
  tokenLength?: TokenLengths | null
  checkedAt: string
}
