// SQL of the hot paths, beside Prisma on the same connections: what Prisma adds to a statement is as long as the statement takes.
import type pg from 'pg'
import type { Connection } from './database.ts'

/** Numbered parameters; the name belongs to this text alone. */
export type Statement = { name: string; text: string }

export type RunStatement = <Row extends object>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** Parsed and planned once per connection. */
export const preparing =
  (pool: pg.Pool): RunStatement =>
  async <Row extends object>(statement: Statement, values: readonly unknown[]) =>
    (await pool.query<Row>({ ...statement, values: [...values] })).rows

/** Within a transaction of Prisma, which has its own connection. */
export const unprepared =
  (tx: Connection): RunStatement =>
  ({ text }, values) =>
    tx.$queryRawUnsafe(text, ...values)
