// Counts good and bad answers: judged answers teach nothing if all are alike.
import type { DatasetRow } from './dataset-row.ts'

export function createJudgementCount() {
  let [good, bad] = [0, 0]
  return {
    add({ answers }: DatasetRow) {
      for (const { isGood } of answers?.list ?? []) {
        if (isGood) good++
        else bad++
      }
    },
    /** @returns why training on judged answers is not possible */
    problem(): string | null {
      if (good > 0 && bad > 0) return null
      return `The training data has only rows labelled ${good > 0}: all ${good + bad} of them. The method kto needs both labels.`
    },
  }
}
