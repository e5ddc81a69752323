// Writes the rows of a file whose columns have names of their own as rows of input and output.
import { invalidDataReason, type Columns } from '../domain/dataset-report.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits } from './dataset-limits.ts'
import { validateRows } from './validate-rows.ts'
import { openRowWriter } from './write-rows.ts'

/** `key`: where the mapped rows go. */
export type Mapping = { dataKey: string; columns: Columns; key: string }

/** Writes nothing when a row is bad. @throws DatasetInvalidError */
export async function mapColumns(
  storage: Storage,
  { dataKey, columns, key }: Mapping,
  { limits }: { limits: DatasetLimits },
): Promise<DataFile> {
  const file = await storage.read(dataKey)
  if (!file) throw new DatasetInvalidError('Nothing was uploaded to the data set: upload the file first.')
  const watch = createLimitWatch(limits)
  const writer = openRowWriter(storage, key)
  try {
    const check = await validateRows(file as AsyncIterable<Buffer>, {
      limits,
      watch,
      columns,
      async use(row, _print, line) {
        const waiting = writer.write(row)
        if (waiting === undefined) return
        await waiting
        watch.requireRoom({ name: 'data set', line, writtenBytes: writer.sizeBytes() })
      },
    })
    const problem = invalidDataReason('data set', check.report({ etag: '', sizeBytes: 0 }))
    if (problem !== null) throw new DatasetInvalidError(problem)
    return await writer.close()
  } catch (error) {
    await writer.abandon()
    throw error
  }
}
