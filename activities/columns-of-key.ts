import type { Columns } from '../src/domain/dataset-report.ts'
import { ownerOfKey } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'

/** The columns that the data set with these bytes is read by; null where the names of the fields say what they hold. */
export async function columnsOfKey(database: Pick<Database, 'datasets'>, key: string): Promise<Columns | null> {
  const owner = ownerOfKey(key)
  return owner?.kind === 'version' ? database.datasets.columns(owner.id) : null
}
