import { trainingRow } from '../../domain/stored-data.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import type { ServiceDependencies } from '../context.ts'

/** Writes the rows, then `more` (JSON Lines), as a JSON Lines data set, one page in memory at a time. @returns the size in bytes */
export async function exportRows(
  { database, storage }: Pick<ServiceDependencies, 'database' | 'storage'>,
  { place, more, key }: { place: Collection; more: AsyncIterable<Buffer> | null; key: string },
): Promise<number> {
  async function* lines() {
    for await (const page of database.storedRows.pages(place)) yield jsonLines(page.map(trainingRow))
    if (more) yield* more
  }
  return storage.writeStream(key, lines())
}

const jsonLines = (rows: readonly unknown[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
