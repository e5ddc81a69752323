// What requests ask the database again and again. No answer is older than a second when it is used; one in use is asked for
// again before that, so that the requests do not wait for it.

/** Counted from before the question, with time to spare for the request that uses the answer last. */
const keptForMs = 900
const askAgainMs = 450
const maxKept = 10_000

type Asked<T> = { answer: Promise<T>; atMs: number; isAskedAgain: boolean }

export function createTtlCache<T>(now = () => performance.now()) {
  const kept = new Map<string, Asked<T>>()

  /** `atMs` is from before the question: the answer may be as old as that. */
  const begin = (ask: () => Promise<T>): Asked<T> => ({ atMs: now(), answer: ask(), isAskedAgain: false })

  function keep(key: string, asked: Asked<T>): Asked<T> {
    // Deleted first: a map keeps its order, so the oldest entries stay in front.
    kept.delete(key)
    kept.set(key, asked)
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept) break
      kept.delete(oldest)
    }
    asked.answer.catch(() => kept.get(key) === asked && kept.delete(key))
    return asked
  }

  return {
    get(key: string, ask: () => Promise<T>): Promise<T> {
      const known = kept.get(key)
      const ageMs = known ? now() - known.atMs : Number.POSITIVE_INFINITY
      if (!known || ageMs >= keptForMs) return keep(key, begin(ask)).answer
      if (ageMs >= askAgainMs && !known.isAskedAgain) {
        known.isAskedAgain = true
        const next = begin(ask)
        // Until it answers, and if it fails, what is known holds for its time. What was forgotten meanwhile stays so.
        next.answer.then(
          () => kept.get(key) === known && keep(key, next),
          () => undefined,
        )
      }
      return known.answer
    },

    /** Something has changed. */
    forget: () => kept.clear(),
  }
}
