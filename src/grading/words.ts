// Text as the published scorers read it.

/** White space as Python's `str.split()` knows it. */
// oxlint-disable-next-line no-control-regex
const whiteSpace = /[\s\u001c-\u001f\u0085]+/u
const punctuation = /[!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]/g
const article = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu

export const wordsOf = (text: string): string[] => text.split(whiteSpace).filter((word) => word !== '')

/** The words of an answer, as SQuAD's evaluation script compares them. */
export const squadWords = (text: string): string[] =>
  wordsOf(text.toLowerCase().replace(punctuation, '').replace(article, ' '))

/** How often each item occurs. */
export function counted<T>(items: Iterable<T>): Map<T, number> {
  const counts = new Map<T, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

/** The number of items that both have. */
export function overlap<T>(a: ReadonlyMap<T, number>, b: ReadonlyMap<T, number>): number {
  let sum = 0
  for (const [item, count] of a) sum += Math.min(count, b.get(item) ?? 0)
  return sum
}

export const total = (counts: ReadonlyMap<unknown, number>): number =>
  counts.values().reduce((sum, count) => sum + count, 0)

export const harmonicMean = (a: number, b: number): number => (a + b === 0 ? 0 : (2 * a * b) / (a + b))
