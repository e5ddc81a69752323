// The grader embedding_similarity without the model that embeds.
import type { Graded } from './compile-graders.ts'
import { cosine } from './cosine.ts'

/** Each answer, then its expected text. An embedder takes no empty text. */
export const textsToEmbed = (all: readonly Graded[]): string[] =>
  all.flatMap(({ output, expected }) => [output, expected]).map((text) => text.trim() || ' ')

/**
 * An empty answer is like nothing.
 * @param vectors of `textsToEmbed`; an answer without one has no score
 */
export const similarities = (
  all: readonly Graded[],
  vectors: readonly (readonly number[] | null)[],
): (number | null)[] =>
  all.map(({ output }, index) => {
    if (output.trim() === '') return 0
    const [ours, theirs] = [vectors[2 * index], vectors[2 * index + 1]]
    return ours && theirs ? cosine(ours, theirs) : null
  })
