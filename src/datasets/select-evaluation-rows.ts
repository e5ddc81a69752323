// Which rows are set aside to evaluate on: a pure function of the data set's content, in constant memory.

const smallestSplit = 200
const share = 0.05
const most = 100
/** From this many distinct rows on, the share is above `most` anyway: no need to count further. */
const distinctCounted = most / share

/** Collects rows; at the end names the fingerprints to set aside: none below 200 distinct rows, else 5 % of them, 100 at most. */
export function createEvaluationSelection() {
  const distinct = new Set<string>()
  let smallest: string[] = []
  return {
    add(print: string) {
      if (distinct.size < distinctCounted) distinct.add(print)
      const largest = smallest.at(-1)
      if (smallest.length === most && largest !== undefined && print >= largest) return
      if (smallest.includes(print)) return
      smallest = [...smallest, print].toSorted().slice(0, most)
    },
    selected(): Set<string> {
      if (distinct.size < smallestSplit) return new Set()
      return new Set(smallest.slice(0, Math.min(most, Math.floor(distinct.size * share))))
    },
  }
}
