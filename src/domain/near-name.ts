// Finds the name that a person meant: the proposals of the service and of the command line.

const mostEdits = 2
const mostLetters = 64

/** @returns the known name that differs from the given one in at most two letters, and in at most half of them, or null */
export function nearName(given: string, known: readonly string[]): string | null {
  const name = given.toLowerCase()
  if (name.length > mostLetters) return null
  const [near] = known
    .map((each) => ({ each, edits: editsBetween(name, each.toLowerCase()) }))
    .toSorted((one, next) => one.edits - next.edits)
  return near && near.edits <= mostEdits && near.edits * 2 <= Math.max(name.length, near.each.length) ? near.each : null
}

/** Letters to insert, remove or replace. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of Array.from(one).entries()) {
    const next = [at + 1]
    for (let to = 1; to <= other.length; to++)
      next.push(
        Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, (row[to - 1] ?? 0) + (other[to - 1] === letter ? 0 : 1)),
      )
    row = next
  }
  return row.at(-1) ?? 0
}
