// Scores of short answers, and ROUGE-L.
import { counted, harmonicMean, overlap, squadWords } from './words.ts'

/** 1 when both are the same words in the same order. */
export const exactMatch = (output: string, expected: string): number =>
  squadWords(output).join(' ') === squadWords(expected).join(' ') ? 1 : 0

/** The share of words that both have, as SQuAD counts them. */
export function tokenF1(output: string, expected: string): number {
  const [found, wanted] = [squadWords(output), squadWords(expected)]
  if (found.length === 0 || wanted.length === 0) return found.length === wanted.length ? 1 : 0
  const common = overlap(counted(found), counted(wanted))
  return harmonicMean(common / found.length, common / wanted.length)
}

const numbers = /[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?/g

/** The last number in a text, which is where answers with a derivation end; null without one. */
export function lastNumber(text: string): number | null {
  const found = text.match(numbers)?.at(-1)
  const value = found === undefined ? Number.NaN : Number(found.replaceAll(',', ''))
  return Number.isFinite(value) ? value : null
}

/** Null when the expected text has no number. */
export function numericMatch(
  output: string,
  expected: string,
  { tolerance = 0, relative = 0 }: { tolerance?: number; relative?: number },
): number | null {
  const [found, wanted] = [lastNumber(output), lastNumber(expected)]
  if (wanted === null) return null
  return found !== null && Math.abs(found - wanted) <= Math.max(tolerance, relative * Math.abs(wanted)) ? 1 : 0
}

/** Limit of each text: the time of a comparison grows with the product of the lengths. */
const maxRougeWords = 4000

const rougeWords = (text: string): string[] => (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).slice(0, maxRougeWords)

/**
 * The F measure of the longest common subsequence of words, as the package rouge-score computes it without stemming.
 * Compares the first words of long texts only.
 */
export function rougeL(output: string, expected: string): number {
  const [found, wanted] = [rougeWords(output), rougeWords(expected)]
  if (found.length === 0 || wanted.length === 0) return 0
  const common = longestCommonSubsequence(found, wanted)
  return harmonicMean(common / found.length, common / wanted.length)
}

/** Time grows with the product of the lengths, memory with the second. */
function longestCommonSubsequence(a: readonly string[], b: readonly string[]): number {
  let row = new Uint32Array(b.length + 1)
  for (const word of a) {
    const next = new Uint32Array(b.length + 1)
    for (let at = 1; at <= b.length; at++)
      next[at] = word === b[at - 1] ? (row[at - 1] as number) + 1 : Math.max(row[at] as number, next[at - 1] as number)
    row = next
  }
  return row[b.length] as number
}
