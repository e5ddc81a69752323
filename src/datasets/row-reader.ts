// How the rows of a data set are read: by their fields or by chosen columns, and for a method of training.
import type { Columns } from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import { answerReaderOf } from './answer-row.ts'
import { readColumns, readDatasetRow, type DatasetRow, type RowProblem } from './dataset-row.ts'
import { promptReaderOf } from './prompt-row.ts'

/** Reads one row. `unread` gets the names of fields that hold something and are not read. */
export type ReadRow = (value: unknown, unread?: string[]) => DatasetRow | RowProblem

/**
 * @param columns null where the names of the fields say what they hold. They name one answer, so only supervised training has them
 * @param needs the parts of a row's item that graders read
 */
export function rowReaderOf(
  columns: Columns | null,
  method: MethodName = 'supervised',
  needs: readonly ItemNeed[] = [],
): ReadRow {
  if (method === 'reinforcement') return promptReaderOf(needs)
  if (method !== 'supervised') return answerReaderOf(method)
  return columns === null ? readDatasetRow : (value) => readColumns(value, columns)
}
