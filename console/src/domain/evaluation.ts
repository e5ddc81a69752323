// The order of the rows of an evaluation.

type Output = { model: string; output: string | null; scores?: Record<string, number | null> | null }
type Row = { index: number; outputs: readonly Output[] }

/** The mean of the scores of an answer; null without one. */
export function qualityOf(output: Output | undefined): number | null {
  const scores = Object.values(output?.scores ?? {}).filter((score) => score !== null)
  return scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length
}

/** The rows that this model answered worst come first; rows without a score come last. */
export function worstFirst<T extends Row>(rows: readonly T[], model: string): T[] {
  const quality = (row: T) =>
    qualityOf(row.outputs.find((output) => output.model === model)) ?? Number.POSITIVE_INFINITY
  return rows.toSorted((a, b) => {
    const [left, right] = [quality(a), quality(b)]
    return left === right ? a.index - b.index : left - right
  })
}

/** The graders that need no parameters. */
export const graders = [
  'exact_match',
  'equals',
  'f1',
  'includes',
  'numeric',
  'json_schema',
  'rouge_l',
  'rouge_n',
  'fuzzy_match',
  'bleu',
  'gleu',
  'chrf',
  'embedding_similarity',
] as const
export type Grader = (typeof graders)[number]

const meanings: Record<string, string> = {
  exact_match: 'the same words; case and punctuation do not count',
  equals: 'the same text, character by character',
  f1: 'how many words both have',
  includes: 'the answer contains the expected text',
  numeric: 'the last number is the expected one',
  json_schema: 'JSON with the expected fields',
  rouge_l: 'how many words both have, in the same order',
  rouge_n: 'how many groups of words both have',
  fuzzy_match: 'the share of characters that are alike',
  bleu: 'BLEU, for translations',
  gleu: 'GLEU, for translations',
  chrf: 'how many groups of characters both have (chrF)',
  embedding_similarity: 'how alike the meanings are',
  prefers_chosen: 'the better answer of a pair is likelier than the other one',
} satisfies Record<Grader | 'prefers_chosen', string>

/** What a grader looks at, in a few words; null for a grader with a name of the user's. */
export const meaningOf = (grader: string): string | null => meanings[grader] ?? null
