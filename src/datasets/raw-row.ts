/** `line` counts from 1. A row that could not be read has a `problem` instead of a value. */
export type RawRow = { line: number; value: unknown } | { line: number; problem: string }
