// Pages of rows with large texts of users. A page has as many rows as were asked for, unless fewer fill it.

/** The texts of a page. Reading and writing an answer of this size holds the event loop for some 20 ms. */
const pageBytes = 1024 * 1024

export type Page<T> = { rows: T[]; hasMore: boolean }

/** `sizeBytes`: known without the row's texts, and at least as much as they have. */
type Head = { id: string; sizeBytes: number }

/**
 * Reads the rows of a page in the order of their heads: all at once if they are small, else a few at a time until the page is full.
 * A page has at least one row.
 * @param heads one more than the page may have rows tells that there are more
 */
export async function readPage<T extends { id: string }>(
  heads: readonly Head[],
  limit: number,
  { read, sizeOf }: { read: (ids: string[]) => Promise<T[]>; sizeOf: (row: T) => number },
): Promise<Page<T>> {
  const rows: T[] = []
  let left = pageBytes
  const wanted = heads.slice(0, limit)
  for (let at = 0; at < wanted.length;) {
    const ids = idsThatFit(wanted.slice(at), left)
    at += ids.length
    const found = new Map((await read(ids)).map((row) => [row.id, row]))
    for (const id of ids) {
      const row = found.get(id)
      // Deleted meanwhile.
      if (!row) continue
      left -= sizeOf(row)
      if (left < 0 && rows.length > 0) return { rows, hasMore: true }
      rows.push(row)
    }
  }
  return { rows, hasMore: heads.length > limit }
}

function idsThatFit(heads: readonly Head[], bytes: number): string[] {
  let left = bytes
  const fitting = heads.findIndex(({ sizeBytes }, at) => (left -= sizeBytes) < 0 && at > 0)
  return heads.slice(0, fitting < 0 ? heads.length : fitting).map(({ id }) => id)
}

const length = (value: unknown) => (typeof value === 'string' ? value.length : 0)

/** Counts the texts of a row; other values and null count nothing. */
export const textBytes = (...values: unknown[]) => values.reduce<number>((sum, value) => sum + length(value), 0)
