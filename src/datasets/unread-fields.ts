// Counts the fields of rows that training does not read, so that nothing of a row is dropped without a word.
import type { UnreadField } from '../domain/dataset-report.ts'

const maxNames = 50
const maxNameCharacters = 64

/** `add` takes names of one row. */
export function createUnreadFields() {
  const found = new Map<string, UnreadField>()

  return {
    add(names: readonly string[], line: number) {
      for (const name of new Set(names)) {
        // Postgres holds no NUL.
        const short = name.slice(0, maxNameCharacters).toWellFormed().replaceAll('\0', '\uFFFD')
        const field = found.has(short) || found.size < maxNames ? short : '(more fields)'
        const before = found.get(field)
        if (before) before.rows++
        else found.set(field, { field, rows: 1, line })
      }
    },
    list: (): UnreadField[] => [...found.values()],
  }
}
