// Tells by its first rows for which method of training a file is.
import type { Columns } from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { Storage } from '../storage/storage.ts'
import { isProblem } from './dataset-row.ts'
import { readDataset } from './read-dataset.ts'
import { rowReaderOf } from './row-reader.ts'

const lookedAtRows = 20
/** After decompression. */
const lookedAtBytes = 32 * 1024 * 1024

/**
 * Rows of these have answers. A row that only lacks its answer is no prompt for reinforcement. Supervised training takes judged
 * answers, too, and learns the bad ones, so it comes last.
 */
const withAnswers = ['dpo', 'kto', 'supervised'] as const

/**
 * @returns the first method that takes one of the first rows; kto if it takes all of them that have one answer, as other files may
 * have a field label, too; supervised where no method takes a row, and for chosen columns
 */
export async function methodOfFile(storage: Storage, key: string, columns: Columns | null): Promise<MethodName> {
  const file = columns === null ? await storage.read(key) : null
  if (!file) return 'supervised'
  let [seen, areJudged, arePrompts] = [0, false, false]
  const guess = () => (areJudged ? 'kto' : arePrompts ? 'reinforcement' : 'supervised')
  try {
    for await (const batch of readDataset(file as AsyncIterable<Buffer>, lookedAtBytes))
      for (const raw of batch) {
        const method = 'problem' in raw ? undefined : withAnswers.find((each) => takes(each, raw.value))
        if (method === 'kto') areJudged = true
        else if (method) return method
        arePrompts ||= !('problem' in raw) && takes('reinforcement', raw.value)
        if (++seen === lookedAtRows) return guess()
      }
    return guess()
  } finally {
    // Nothing more is fetched.
    file.destroy()
  }
}

const takes = (method: MethodName, value: unknown) => !isProblem(rowReaderOf(null, method)(value))
