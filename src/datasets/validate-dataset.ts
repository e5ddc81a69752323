import type { Columns, DatasetReport } from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import type { Storage } from '../storage/storage.ts'
import { createLimitWatch, type DatasetLimits } from './dataset-limits.ts'
import { methodOfFile } from './method-of-file.ts'
import { validateRows } from './validate-rows.ts'
import type { Tokenizers } from './token-sample.ts'

export type CheckWanted = {
  key: string
  model: string
  columns: Columns | null
  method: MethodName | null
  /** The parts of an item that the graders of a job read. */
  needs?: readonly ItemNeed[]
}

/**
 * @param asked `method`: the one that the rows are read for, or null for the one that takes the first of them
 * @returns null when no object has this key
 */
export async function validateDataset(
  storage: Storage,
  { key, model, columns, method, needs }: CheckWanted,
  { limits, tokenizers }: { limits: DatasetLimits; tokenizers: Tokenizers },
): Promise<DatasetReport | null> {
  const object = await storage.stat(key)
  if (!object) return null
  const readFor = method ?? (await methodOfFile(storage, key, columns))
  const file = await storage.read(key)
  if (!file) return null
  const watch = createLimitWatch(limits)
  const rows = await validateRows(file as AsyncIterable<Buffer>, { limits, watch, columns, method: readFor, needs })
  return rows.report(object, { model, tokenizers })
}
