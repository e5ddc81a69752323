/**
 * `line` counts from 1. A row that could not be read has a `problem` instead of a value. `endsReading`: the rest of the file could
 * not be read either.
 */
export type RawRow = { line: number; value: unknown } | { line: number; problem: string; endsReading?: true }
