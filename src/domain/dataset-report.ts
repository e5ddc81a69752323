// The result of validating a data set.
import type { LearnedForm } from './learned.ts'
import type { MethodName } from './method-table.ts'

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
  /** Those of them that a training learns, by what it learns. Absent in reports of older releases. */
  estimatedLearned?: { answers: number; lastAnswer: number }
  /** Rows of the sample by the tokens of input and output together. */
  histogram: TokenBucket[]
}

export type BadRow = { line: number; field: string; reason: string }

/** Bad rows with the same reason. `lines`: those of the first five. */
export type BadRowGroup = { field: string; reason: string; rowCount: number; lines: number[] }

/** The columns of a file that hold what the trainer reads. Without `input` the trainer learns the whole text of `output`. */
export type Columns = { input: string | null; output: string }

/** A field that holds something in some rows, and that training does not read. `line`: the first such row. */
export type UnreadField = { field: string; rows: number; line: number }

/** Answers that are labelled true and false. */
export type Judged = { good: number; bad: number }

/** Counts the changes of how rows are read. Reports and prepared rows of another number are not used again. */
export const rowReader = 7

export type DatasetReport = {
  /** `rowReader` of the release that made the report. */
  reader: number
  /** The method that the rows were read for; supervised when absent. */
  method?: MethodName
  /** The object store's ETag of the checked bytes. */
  etag: string
  /** The columns that were read; absent where the names of the fields say what they hold. */
  columns?: Columns
  /** Size of the upload. */
  sizeBytes: number
  rowCount: number
  badRowCount: number
  /** The first 100 bad rows. */
  badRows: BadRow[]
  /** All bad rows by their reasons, the first ones first. At most 50 reasons, and one group for all others. */
  badRowGroups: BadRowGroup[]
  /** Why the rest of the file was not read; null when the file was read to its end. The last bad row. */
  unreadRest: BadRow | null
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
  /** Counts the labels of rows that were read for kto; absent for other methods. */
  judged?: Judged
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
  /** Answers that are compared or judged, the better one first; null for rows of supervised training. */
  answers: PreviewedAnswer[] | null
  /** The conversation as a model's chat template writes it; null where the template is not known. */
  templated: TemplatedRow | null
  /** The special tokens of the model that act in the input of a pair. Empty where the model's tokenizer is not known. */
  specialTokens: string[]
  isCut: boolean
  error: { field: string; reason: string } | null
}

type PreviewedAnswer = { text: string; isGood: boolean }

type LearnedText = { text: string; isLearned: boolean }
/** `special`: where special tokens that act are in the text. */
export type MarkedText = LearnedText & { special: { from: number; to: number }[] }
export type PreviewedMessage = LearnedText & { role: string }

/** With an `error` of the template there are no sequences. */
export type TemplatedRow = { model: string; sequences: MarkedText[][]; error: string | null }

/** Columns that may hold prompts and answers, and up to three rows as they would be read. */
export type ProposedColumns = Columns & { rows: { line: number; input: string; output: string }[] }

export type RowPreview = {
  rows: PreviewedRow[]
  /** The method that the rows were read for. */
  method: MethodName
  /** The names of the fields that these rows have. */
  columns: string[]
  /** The columns that were read; null where the names of the fields say what they hold. */
  readColumns: Columns | null
  /** The sign between the cells of a file that has cells. */
  separator: string | null
  /** Null unless no row of the page can be read by the names of its fields. */
  proposedColumns: ProposedColumns | null
  /** The index of the next row; null at the end. */
  next: number | null
}

/** Whether a report or prepared rows tell what reading this upload would give, for a method or for any (null). */
export const isReadOf = (
  found: Pick<DatasetReport, 'etag' | 'reader' | 'columns' | 'method'>,
  { etag, columns, method }: { etag: string; columns: Columns | null; method: MethodName | null },
): boolean =>
  found.etag === etag &&
  (method === null || (found.method ?? 'supervised') === method) &&
  found.reader === rowReader &&
  found.columns?.input === columns?.input &&
  found.columns?.output === columns?.output

/** `set`: the name of the data set, where a job has several. */
type Named = { set?: string }

/** @returns why no job can read the data, or null when every row is good */
export function invalidDataReason(name: string, report: DatasetReport & Named): string | null {
  const { rowCount, badRowCount } = report
  if (rowCount === 0) return `The ${name} has no rows.`
  if (badRowCount === 0) return null
  return `The ${name} cannot be used: ${badRowCount} of ${rowCount} rows are bad: ${badRowsText(report)}.`
}

/** Every row that a job leaves out is listed in one object. */
const maxSkippedRows = 100_000

type Skipping = { isSkipping: boolean }

/** @returns why a job cannot train on the data, or null when it can */
export const trainingDataProblem = (report: DatasetReport & Named, skipping: Skipping): string | null =>
  dataProblem(report, skipping, { name: trainingDataName(report), use: 'train on', mostSkipped: maxSkippedRows })

/** @param reports those of all data sets of a job. @returns why kto cannot train on them: answers that are all alike teach nothing */
export function judgementProblem(reports: readonly Pick<DatasetReport, 'judged'>[]): string | null {
  if (reports.some(({ judged }) => !judged)) return null
  const sum = (kind: keyof Judged) => reports.reduce((total, { judged }) => total + (judged?.[kind] ?? 0), 0)
  const [good, bad] = [sum('good'), sum('bad')]
  if (good > 0 && bad > 0) return null
  const all = good + bad === 1 ? 'the only row is' : `all ${good + bad} rows are`
  return `The training data cannot be used: ${all} labelled ${good > 0}; KTO needs both.`
}

/** How sentences name the data of a job, or one of its data sets. */
export const trainingDataName = ({ set }: Named) => (set === undefined ? 'training data' : `data set ${set}`)

/** @returns why an evaluation cannot use the data set, or null when it can */
export const evaluationDataProblem = (report: DatasetReport, skipping: Skipping): string | null =>
  dataProblem(report, skipping, { name: 'data set', use: 'evaluate', mostSkipped: Infinity })

function dataProblem(
  report: DatasetReport & Named,
  { isSkipping }: Skipping,
  { name, use, mostSkipped }: { name: string; use: string; mostSkipped: number },
): string | null {
  const problem = invalidDataReason(name, report)
  if (problem === null || report.rowCount === 0) return problem
  const refusal = skippingRefusal(report, mostSkipped)
  if (!isSkipping) {
    if (refusal !== null) return problem
    const left = report.rowCount - report.badRowCount
    return `${problem} Mend the file, or leave the bad rows out (skip_bad_rows) to ${use} the other ${counted(left, 'row')}.`
  }
  return refusal && `The ${name} cannot be used, even without its bad rows: ${refusal}`
}

/** @returns why a job cannot leave out the bad rows, or null when it can */
export function skippingRefusal(report: DatasetReport & Named, mostSkipped = maxSkippedRows): string | null {
  const { rowCount, badRowCount, unreadRest, set } = report
  if (rowCount === 0) return 'it has no rows.'
  if (unreadRest) return `${badRowText(unreadRest, set)}, and the rows after this line were not read.`
  if (badRowCount === rowCount) return `no good row remains: ${badRowsText(report)}.`
  if (badRowCount > mostSkipped)
    return `${badRowCount} of ${rowCount} rows are bad, and a job leaves out at most ${mostSkipped}: ${badRowsText(report)}.`
  return null
}

/** @returns a sentence about the rows that are left out, or null when there are none */
export function skippedNote(
  report: Pick<DatasetReport, 'rowCount' | 'badRowCount' | 'badRowGroups'> & Named,
): string | null {
  const { rowCount, badRowCount } = report
  if (badRowCount === 0) return null
  const are = badRowCount === 1 ? 'is' : 'are'
  return `${badRowCount} of ${counted(rowCount, 'row')} ${are} bad and left out: ${badRowsText(report)}.`
}

const groupsInMessage = 5
const badRowText = ({ line, field, reason }: BadRow, set?: string) =>
  `${set === undefined ? '' : `${set}, `}line ${line}: ${field}: ${reason}`
const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Says each reason once, with its first line and the number of its rows. */
function badRowsText({ badRowGroups: groups, set }: Pick<DatasetReport, 'badRowGroups'> & Named): string {
  const listed = groups.slice(0, groupsInMessage).map(({ rowCount, lines: [line = 0], ...of }) => {
    return badRowText({ line, ...of }, set) + (rowCount === 1 ? '' : ` (${rowCount} rows)`)
  })
  const more = groups.slice(groupsInMessage).reduce((sum, { rowCount }) => sum + rowCount, 0)
  return listed.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
