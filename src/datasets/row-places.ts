// Where prepared rows stand in the user's own files, by the file of lines that prepared-writer.ts writes.
import type { Storage } from '../storage/storage.ts'
import { linesOf } from './byte-lines.ts'

/** The first of rows that follow each other, its line in the upload, and among several data sets the name of its own. */
type Run = [row: number, line: number, set?: string]
/** `set`: null where the job has one data set. */
export type FoundPlace = { line: number; set: string | null }

/** @returns nothing for rows of a file that is gone, as that of a job that ended long ago */
export async function findRowPlaces(
  storage: Storage,
  { linesKey, rows }: { linesKey: string; rows: readonly number[] },
): Promise<Map<number, FoundPlace>> {
  const file = await storage.read(linesKey)
  const places = new Map<number, FoundPlace>()
  if (!file) return places
  const waiting = [...new Set(rows)].toSorted((a, b) => a - b)
  let run: Run | null = null
  const endRunAt = (end: number) => {
    for (; waiting[0] !== undefined && waiting[0] < end; waiting.shift())
      if (run) places.set(waiting[0], { line: run[1] + waiting[0] - run[0], set: run[2] ?? null })
  }
  try {
    for await (const line of linesOf(file)) {
      const next = JSON.parse(line.toString()) as Run
      endRunAt(next[0])
      run = next
      if (waiting.length === 0) return places
    }
    endRunAt(Number.POSITIVE_INFINITY)
    return places
  } finally {
    file.destroy()
  }
}
