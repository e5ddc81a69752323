// Scores of short answers, ROUGE, and the likeness of characters.
import { counted, harmonicMean, overlap, squadWords, total } from './words.ts'

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

/** Limit of each text: time and memory of a comparison grow with the product of the lengths. */
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

/** The F measure of the groups of `n` words that both have, as the package rouge-score computes it without stemming. */
export function rougeN(output: string, expected: string, n: number): number {
  const [found, wanted] = [wordGroups(rougeWords(output), n), wordGroups(rougeWords(expected), n)]
  if (found.size === 0 || wanted.size === 0) return 0
  const common = overlap(found, wanted)
  return harmonicMean(common / total(found), common / total(wanted))
}

const wordGroups = (words: readonly string[], n: number) =>
  counted(words.slice(n - 1).map((_, start) => words.slice(start, start + n).join(' ')))

/** The same time as a comparison of as many words. */
const maxFuzzyCharacters = 4000

/** Code points, as Python counts them. */
const firstCharacters = (text: string) => Array.from(text.slice(0, 2 * maxFuzzyCharacters)).slice(0, maxFuzzyCharacters)

/**
 * The share of characters that stay when one text is turned into the other by insertions and deletions, as `ratio` of the
 * package rapidfuzz computes it. Compares the first characters of long texts only.
 */
export function fuzzyMatch(output: string, expected: string): number {
  const [found, wanted] = [firstCharacters(output), firstCharacters(expected)]
  const length = found.length + wanted.length
  return length === 0 ? 1 : (2 * longestCommonSubsequence(found, wanted)) / length
}

/**
 * Its length, 32 words of `a` at a time (Hyyrö 2004): a bit of `open` turns to 0 where the subsequence grows. Two texts of
 * 4,000 words take a few milliseconds.
 */
function longestCommonSubsequence(a: readonly string[], b: readonly string[]): number {
  const places = placesOf(a)
  const open = new Uint32Array(Math.ceil(a.length / 32)).fill(0xffff_ffff)
  for (const word of b) {
    const found = places.get(word)
    if (!found) continue
    let carry = 0
    for (let at = 0; at < open.length; at++) {
      const [bits, here] = [open[at] as number, found[at] as number]
      const sum = bits + ((bits & here) >>> 0) + carry
      carry = sum > 0xffff_ffff ? 1 : 0
      open[at] = sum | (bits & ~here)
    }
  }
  return open.reduce((count, bits) => count + zerosIn(bits), 0)
}

/** By word: a bit for each of its places. */
function placesOf(words: readonly string[]): Map<string, Uint32Array> {
  const places = new Map<string, Uint32Array>()
  words.forEach((word, at) => {
    const bits = places.get(word) ?? new Uint32Array(Math.ceil(words.length / 32))
    bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31))
    places.set(word, bits)
  })
  return places
}

function zerosIn(bits: number): number {
  let count = 0
  for (let left = ~bits >>> 0; left !== 0; left = (left & (left - 1)) >>> 0) count++
  return count
}
