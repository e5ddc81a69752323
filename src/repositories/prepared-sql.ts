// Prepared SQL of the hot paths, on Prisma's connections. Prisma's own overhead takes as long as such a statement.
import type pg from 'pg'
import type { Connection } from './connection.ts'

/** The text has numbered parameters. The name must be unique to the text. */
export type Statement = { name: string; text: string }

export type RunStatement = <Row extends object>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** Statements are parsed once per connection. */
export const preparing =
  (pool: pg.Pool): RunStatement =>
  async <Row extends object>(statement: Statement, values: readonly unknown[]) =>
    (await pool.query<Row>({ ...statement, values: [...values] })).rows

/** For use in a Prisma transaction, which has its own connection. */
export const unprepared =
  (tx: Connection): RunStatement =>
  ({ text }, values) =>
    tx.$queryRawUnsafe(text, ...values)
