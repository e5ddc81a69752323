// The result of validating a data set.

export type LengthPercentiles = { p50: number; p90: number; p99: number; max: number }

/** Token counts of a sample of the rows, by the named model's tokenizer. */
export type TokenLengths = {
  tokenizer: string
  sampledRows: number
  input: LengthPercentiles
  output: LengthPercentiles
}

export type BadRow = { line: number; field: string; reason: string }

export type DatasetReport = {
  /** The object store's ETag of the checked bytes. */
  etag: string
  /** Size of the upload. */
  sizeBytes: number
  rowCount: number
  badRowCount: number
  /** The first 100 bad rows. */
  badRows: BadRow[]
  /** Rows equal to an earlier row; counted among the first three million different rows. */
  duplicateCount: number
  /** Rows whose output has no text: "" makes a row bad, white space does not. */
  emptyOutputCount: number
  /** Characters, within 1.1 %. */
  inputLength: LengthPercentiles
  outputLength: LengthPercentiles
  /** Null when the model's tokenizer is not on this machine. */
  tokenLength: TokenLengths | null
  checkedAt: string
}
