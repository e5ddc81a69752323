// Selects the rows to set aside for evaluation. The choice depends only on the data set's content and needs constant memory.

const minDistinctRows = 200
const share = 0.05
const maxRows = 100
/** With this many distinct rows the share reaches `maxRows`, so counting stops. */
const distinctCounted = maxRows / share

/** Selects no rows below 200 distinct ones, otherwise 5 % of them, up to 100. */
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
    selected(): Set<string> {
      return new Set(smallest.slice(0, setAside(distinct.size)))
    },
  }
}

const setAside = (distinctRows: number) =>
  distinctRows < minDistinctRows ? 0 : Math.min(maxRows, Math.floor(distinctRows * share))

/** Rows that are left to train on. Duplicates of the rows set aside are left out too, but not known here. */
export const trainedRowCount = ({ rowCount, duplicateCount }: { rowCount: number; duplicateCount: number }) =>
  rowCount - setAside(rowCount - duplicateCount)
