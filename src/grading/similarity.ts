// The grader `embedding_similarity`: a model that embeds both texts.
import type { Graded } from './compile-graders.ts'

/** Null for a text that the embedder refuses. */
export type Embed = (texts: string[], signal: AbortSignal) => Promise<(readonly number[] | null)[]>

/** An empty answer is like nothing, and an embedder takes no empty text. */
export async function compareMeanings(
  graded: readonly Graded[],
  embed: Embed,
  signal: AbortSignal,
): Promise<(number | null)[]> {
  const isEmpty = ({ output }: Graded) => output.trim() === ''
  const texts = graded.flatMap((each) => (isEmpty(each) ? [] : [each.output.trim(), each.expected.trim() || ' ']))
  const vectors = texts.length === 0 ? [] : await embed(texts, signal)
  let at = 0
  return graded.map((each) => {
    if (isEmpty(each)) return 0
    const [ours, theirs] = [vectors[at++], vectors[at++]]
    return ours && theirs ? cosine(ours, theirs) : null
  })
}

/** From 0 to 1: opposite directions say no more about an answer than unrelated ones. */
function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length === 0 ? 0 : Math.min(1, Math.max(0, dot(a, b) / length))
}
