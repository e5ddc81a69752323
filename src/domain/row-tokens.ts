// Rows as tokens, with what a training would learn of them.
import type { BadRow, UnreadField } from './dataset-report.ts'

type RowError = Pick<BadRow, 'field' | 'reason'>

/** `text`: the lines that the trainer gets of the row; null for a bad row, and for one that is too long to be shown. */
export type PreparedRow = { line: number; text: string | null; error: RowError | null }

/** `isEnd`: whether the last row of the file is among them. `unreadFields`: those of these rows. */
export type PreparedRows = { rows: PreparedRow[]; isEnd: boolean; unreadFields: UnreadField[] }

/** One text that the trainer reads. A model server counts every one and shows the first ones. */
export type RowSequence = {
  role: 'text' | 'answer' | 'chosen' | 'rejected' | 'desirable' | 'undesirable' | 'prompt'
  /** Tokens of the sequence, also those that are not shown. */
  length: number
  learned: number
  /** Whether the sequence was cut to max_length. */
  truncated: boolean
  /** Whether its row is left out, because a sequence of the row is longer than max_length. */
  dropped: boolean
  /** Whether the answer still has its end token. */
  ended: boolean
  shown?: ShownTokens
}

export type ShownTokens = {
  ids: number[]
  tokens: string[]
  /** From the first to after the last token of each learned part. */
  trained_spans: [number, number][]
  /** Learned tokens that differ from those of the sequence at the same place. */
  replaced: { index: number; id: number; token: string }[]
}

/** As a model server answers. */
export type EncodedRow = { sequences: RowSequence[]; error: string | null }

/**
 * The training rows of a run, as its trainer has counted them: each once, those that are left out among `dropped` alone. `isWhole`
 * is false where the run visits a part of the rows only, which alone are counted then.
 */
export type RowCounts = Omit<TokenTotals, 'bad' | 'areAll'> & { isWhole: boolean }

export type TokenizedRow = { line: number; sequences: RowSequence[] | null; error: RowError | null }

export type TokenTotals = {
  rows: number
  tokens: number
  learned: number
  bad: number
  cut: number
  dropped: number
  withoutEnd: number
  /** Whether every row of the data was counted. */
  areAll: boolean
}

/** Rows that are left out count among the dropped ones alone. */
export function totalsOf(rows: readonly TokenizedRow[], areAll: boolean): TokenTotals {
  const totals = { rows: 0, tokens: 0, learned: 0, bad: 0, cut: 0, dropped: 0, withoutEnd: 0, areAll }
  for (const { sequences, error } of rows) {
    totals.rows += 1
    if (error) totals.bad += 1
    if (!sequences) {
      totals.areAll &&= error !== null
      continue
    }
    const used = sequences.filter(({ dropped }) => !dropped)
    totals.tokens += used.reduce((sum, { length }) => sum + length, 0)
    totals.learned += used.reduce((sum, { learned }) => sum + learned, 0)
    totals.cut += Number(used.some(({ truncated }) => truncated))
    totals.dropped += Number(used.length < sequences.length)
    totals.withoutEnd += Number(used.some(({ ended }) => !ended))
  }
  return totals
}
