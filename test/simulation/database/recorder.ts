// What the product sent to the simulated database, and what it was answered, a transaction after the other.
import { kernel } from '../kernel.ts'
import { DatabaseError, type Row, type Rows, type Session } from './rows.ts'
import type { Sent } from './sent.ts'

/** A refusal is Prisma's code of it. */
type Outcome = { answer: unknown } | { refusal: string }
export type RecordedStatement = { sent: Sent; atMs: number; outcome: Outcome }
export type RecordedTransaction = { startMs: number; isCommitted: boolean; statements: RecordedStatement[] }

/** With one, transactions do not overlap, so that their order tells what each has seen. */
export class Recorder {
  readonly transactions: RecordedTransaction[] = []
  /** What was there before the first, and what is there after the last. */
  readonly initial: [table: string, row: Row][] = []
  rows: Rows | null = null
  readonly #open = new Map<Session, RecordedTransaction>()

  begin(rows: Rows) {
    this.rows = rows
    for (const [name, table] of rows.tables) for (const row of table.values()) this.initial.push([name, row])
  }

  async record<T>(session: Session, sent: Sent, execute: () => Promise<T>): Promise<T> {
    const transaction = this.#of(session)
    const note = (outcome: Outcome) => transaction.statements.push({ sent, atMs: kernel().nowMs, outcome })
    try {
      const answer = await execute()
      note({ answer: structuredClone(answer) })
      return answer
    } catch (error) {
      if (error instanceof DatabaseError) note({ refusal: error.code })
      throw error
    }
  }

  committed(session: Session) {
    this.#of(session).isCommitted = true
  }

  #of(session: Session): RecordedTransaction {
    const known = this.#open.get(session)
    if (known) return known
    const transaction = { startMs: session.nowMs, isCommitted: false, statements: [] }
    this.#open.set(session, transaction)
    this.transactions.push(transaction)
    return transaction
  }
}
