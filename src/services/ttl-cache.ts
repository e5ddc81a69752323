// Caches answers of the database for less than a second. An answer in use is refreshed before it expires, so that requests
// do not wait for it.

/** Counted from before the query. Leaves 0.1 s to the last request that uses an answer. */
const keptForMs = 900
const askAgainMs = 450
const maxKept = 10_000

type Asked<T> = { answer: Promise<T>; atMs: number; isAskedAgain: boolean }

export function createTtlCache<T>(now = () => performance.now()) {
  const kept = new Map<string, Asked<T>>()

  /** `atMs` is taken before the query, because the answer may be that old. */
  const begin = (ask: () => Promise<T>): Asked<T> => ({ atMs: now(), answer: ask(), isAskedAgain: false })

  function keep(key: string, asked: Asked<T>): Asked<T> {
    // A new insertion moves the key to the end: the oldest entries stay in front.
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
        // The old answer stays in use until the new one arrives. A `forget` meanwhile drops both.
        next.answer.then(
          () => kept.get(key) === known && keep(key, next),
          () => undefined,
        )
      }
      return known.answer
    },

    /** Drops every answer after a change. */
    forget: () => kept.clear(),
  }
}
