// What the product sends to its database: a verb of Prisma's, or a statement of its own.
import type { Connection } from '../../../src/repositories/database.ts'
import type { RunStatement, Statement } from '../../../src/repositories/prepared-sql.ts'

export type Sent =
  | { kind: 'verb'; table: string; verb: string; args: object }
  | { kind: 'template'; method: '$queryRaw' | '$executeRaw'; strings: TemplateStringsArray; values: unknown[] }
  | { kind: 'statement'; statement: Statement; values: unknown[] }

export type Send = (sent: Sent) => Promise<unknown>

/** What the repositories take for Prisma's client. */
export const connectionOver = (send: Send): Connection =>
  new Proxy({} as Connection, {
    get: (_client, name: string) =>
      name === '$queryRaw' || name === '$executeRaw'
        ? (strings: TemplateStringsArray, ...values: unknown[]) =>
            send({ kind: 'template', method: name, strings, values })
        : new Proxy({}, { get: (_model, verb: string) => verbOver(send, name, verb) }),
  })

const verbOver =
  (send: Send, table: string, verb: string) =>
  (args: object = {}) =>
    send({ kind: 'verb', table, verb, args })

export const statementsOver =
  (send: Send): RunStatement =>
  (statement, values) =>
    send({ kind: 'statement', statement, values: [...values] }) as Promise<never>
