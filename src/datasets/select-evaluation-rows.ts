// Selects the rows to set aside for evaluation. The choice depends only on the data set's content and needs constant memory.

const minDistinctRows = 200
const share = 0.05
const maxRows = 100
/** With this many distinct rows the share reaches `maxRows`, so counting stops. */
const distinctCounted = maxRows / share

export type EvaluationSelection = ReturnType<typeof createEvaluationSelection>

/** Chooses evaluation rows of one data set. */
export function createEvaluationSelection() {
  const distinct = new Set<string>()
  let smallest: string[] = []
  return {
    add(print: string) {
      if (distinct.size < distinctCounted) distinct.add(print)
      const largest = smallest.at(-1)
      if (smallest.length === maxRows && largest !== undefined && print >= largest) return
      if (smallest.includes(print)) return
      smallest = [...smallest, print].toSorted().slice(0, maxRows)
    },
    distinctRows: () => distinct.size,
    smallest: (count: number) => smallest.slice(0, count),
  }
}

/**
 * The fingerprints of the rows to set aside of all data sets of a job: none below 200 distinct rows, otherwise 5 % of those of each
 * set, up to 100 together. A row is set aside in every set that has it.
 */
export function selectedOf(sets: readonly EvaluationSelection[]): Set<string> {
  const counts = setAside(sets.map((set) => set.distinctRows()))
  return new Set(sets.flatMap((set, index) => set.smallest(counts[index] ?? 0)))
}

function setAside(distinctRows: readonly number[]): number[] {
  if (distinctRows.reduce((sum, rows) => sum + rows, 0) < minDistinctRows) return distinctRows.map(() => 0)
  const most = Math.floor(maxRows / distinctRows.length)
  return distinctRows.map((rows) => Math.min(most, Math.floor(rows * share)))
}

/** Rows of all sets that are left to train on. Duplicates of the rows set aside are left out too, but not known here. */
export function trainedRowCount(sets: readonly { rowCount: number; duplicateCount: number }[]): number {
  const counts = setAside(sets.map(({ rowCount, duplicateCount }) => rowCount - duplicateCount))
  return sets.reduce((sum, { rowCount }, index) => sum + rowCount - (counts[index] ?? 0), 0)
}
