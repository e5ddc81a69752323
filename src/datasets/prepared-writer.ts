// Writes the rows of a job with the line of the upload that each comes from, so that the trainer can name the user's own lines.
import type { RowsFile } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import type { DatasetRow } from './dataset-row.ts'
import { linesOf, openLineWriter } from './write-rows.ts'

/** Where a row stands in its upload. `set`: its data set among several, by its place and its name. */
export type RowPlace = { line: number; set: { number: number; name: string } | null }

/** The objects exist only after `close`. */
export function openPreparedWriter(storage: Storage, key: string) {
  const rows = openLineWriter(storage, key)
  const places = openLineWriter(storage, `${key}.lines`)
  let [expected, expectedSet] = [0, -1]

  /** Each run of lines that follow each other in both files is one entry. runtime/anneal_runtime/trainer/line_names.py reads them. */
  function note({ line, set }: RowPlace): Promise<void> | undefined {
    const number = set?.number ?? 0
    const follows = line === expected && number === expectedSet
    ;[expected, expectedSet] = [line + 1, number]
    return follows ? undefined : places.write(JSON.stringify([rows.rowCount(), line, ...(set ? [set.name] : [])]))
  }

  return {
    rowCount: () => rows.rowCount(),
    /** Bytes handed to the store so far. */
    sizeBytes: () => rows.sizeBytes() + places.sizeBytes(),
    /** @returns a promise to wait for when the store is slower than the caller */
    write(row: DatasetRow, place: RowPlace): Promise<unknown> | undefined {
      const waiting = linesOf(row, place.set?.number).flatMap((text) => {
        const noted = note(place)
        return [noted, rows.write(text)].filter((promise) => promise !== undefined)
      })
      return waiting.length > 0 ? Promise.all(waiting) : undefined
    },
    async close(): Promise<RowsFile> {
      const [file, lines] = await Promise.all([rows.close(), places.close()])
      return { ...file, lines }
    },
    abandon: () => Promise.all([rows.abandon(), places.abandon()]),
  }
}
