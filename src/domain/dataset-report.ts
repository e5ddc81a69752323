// The result of validating a data set.
import type { LearnedForm } from './learned.ts'

export type LengthPercentiles = { p50: number; p90: number; p99: number; max: number }

/** `rows` have at most `upTo` tokens, and more than the bucket before. */
export type TokenBucket = { upTo: number; rows: number }

/** Token counts of a sample of the rows, by the named model's tokenizer. */
export type TokenLengths = {
  tokenizer: string
  sampledRows: number
  input: LengthPercentiles
  output: LengthPercentiles
  /** The tokens of all good rows, from the sample's mean. */
  estimatedTotal: number
  /** Rows of the sample by the tokens of input and output together. */
  histogram: TokenBucket[]
}

export type BadRow = { line: number; field: string; reason: string }

/** A field that holds something in some rows, and that training does not read. `line`: the first such row. */
export type UnreadField = { field: string; rows: number; line: number }

/** Counts the changes of how rows are read. Reports and prepared rows of another number are not used again. */
export const rowReader = 3

export type DatasetReport = {
  /** `rowReader` of the release that made the report. */
  reader: number
  /** The object store's ETag of the checked bytes. */
  etag: string
  /** Size of the upload. */
  sizeBytes: number
  rowCount: number
  badRowCount: number
  /** The first 100 bad rows. */
  badRows: BadRow[]
  /** Counted in good rows. At most 50 names, and one entry for all others. */
  unreadFields: UnreadField[]
  /** Rows equal to an earlier row; counted among the first three million different rows. */
  duplicateCount: number
  /** Rows whose output has no text: "" makes a row bad, white space does not. */
  emptyOutputCount: number
  /** Characters, within 1.1 %. */
  inputLength: LengthPercentiles
  outputLength: LengthPercentiles
  /** Null when the model's tokenizer is not on this machine. */
  tokenLength: TokenLengths | null
  /** The base model whose tokens were counted, or would have been. */
  countedFor?: string
  /** The form of most good rows; null without any. */
  form?: LearnedForm | null
  checkedAt: string
}

/** A version of a data set. Counts are null before its first check. */
export type ListedVersion = {
  version: number
  fileName: string | null
  createdAt: Date
  sizeBytes: number | null
  rowCount: number | null
  badRowCount: number | null
  tokenCount: number | null
  /** The newest jobs that train or evaluate on it. */
  jobIds: number[]
}

/** A data set with its newest version, and with the newest jobs of any version. */
export type ListedDataset = ListedVersion & { datasetId: string; versionCount: number }

/** `row` is null for a bad row. `line` is its place in the file. */
export type PreviewedRow = {
  index: number
  line: number
  row: { input: string; output: string } | null
  /** The messages of a conversation, up to the last that is learned; null for other rows. */
  messages: PreviewedMessage[] | null
  /** The conversation as a model's chat template writes it; null where the template is not known. */
  templated: TemplatedRow | null
  /** The special tokens of the model that act in the input of a pair. Empty where the model's tokenizer is not known. */
  specialTokens: string[]
  isCut: boolean
  error: { field: string; reason: string } | null
}

type LearnedText = { text: string; isLearned: boolean }
/** `special`: where special tokens that act are in the text. */
export type MarkedText = LearnedText & { special: { from: number; to: number }[] }
export type PreviewedMessage = LearnedText & { role: string }

/** With an `error` of the template there are no sequences. */
export type TemplatedRow = { model: string; sequences: MarkedText[][]; error: string | null }

/** `columns`: the names of the fields that these rows have. `next` is the index of the next row; null at the end. */
export type RowPreview = { rows: PreviewedRow[]; columns: string[]; next: number | null }

const badRowsInMessage = 5

/** @returns why the data cannot be trained on, or null when it can */
export function invalidDataReason(name: string, { rowCount, badRowCount, badRows }: DatasetReport): string | null {
  if (rowCount === 0) return `The ${name} has no rows.`
  if (badRowCount === 0) return null
  const listed = badRows.slice(0, badRowsInMessage).map((row, index) => sentenceOf(row, badRows[index - 1]))
  const more = badRowCount > badRowsInMessage ? `; and ${badRowCount - badRowsInMessage} more` : ''
  return `The ${name} cannot be used: ${badRowCount} of ${rowCount} rows are bad: ${listed.join('; ')}${more}.`
}

const longReason = 80

/** A long reason is said once. */
function sentenceOf({ line, field, reason }: BadRow, before: BadRow | undefined): string {
  const isSame = before?.field === field && before.reason === reason && reason.length > longReason
  return `line ${line}: ${isSame ? 'the same' : `${field}: ${reason}`}`
}

const unreadInMessage = 5

/** @returns what an event says about fields that training does not read, or null when there are none */
export function unreadNote(name: string, { unreadFields }: Pick<DatasetReport, 'unreadFields'>): string | null {
  if (unreadFields.length === 0) return null
  const listed = unreadFields
    .slice(0, unreadInMessage)
    .map(
      ({ field, rows, line }) =>
        `${JSON.stringify(field)} (${rows} ${rows === 1 ? 'row' : 'rows'}, first in line ${line})`,
    )
  const more = unreadFields.length > unreadInMessage ? `, and ${unreadFields.length - unreadInMessage} more` : ''
  return `The ${name} has fields that training does not read: ${listed.join(', ')}${more}. If the model should learn them, put their text into a field that is read.`
}
