// Counts good and bad answers: judged answers teach nothing if all are alike.
import type { Judged } from '../domain/dataset-report.ts'
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
    counts: (): Judged => ({ good, bad }),
  }
}
