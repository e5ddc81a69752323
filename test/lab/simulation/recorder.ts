// Records the repository calls of a schedule with their answers, to repeat them on Postgres. Single calls and whole
// transactions are repeated one after the other, because their order decides what each of them sees.
import type { Database, Repositories } from '../../../src/repositories/database.ts'
import { Transaction, type Tables } from './in-memory-repositories/transactions.ts'
import { Unreachable } from './faults.ts'

export type Outcome = { answer: unknown } | { refusal: unknown }
export type Call = {
  repository: string
  method: string
  args: unknown[]
  /** The time of the call, by the clock of the process. */
  atMs: number
  /** Absent when the caller died or the connection broke. */
  outcome: Outcome | null
}
export type Operation = {
  isTransaction: boolean
  isCommitted: boolean
  /** The value of `now()` in the transaction; null when it never reached the database. */
  nowMs: number | null
  sequences: Tables['sequences']
  calls: Call[]
}

export class Recorder {
  readonly operations: Operation[] = []
  tables: Tables | undefined

  reached() {
    const operation = this.operations.at(-1)
    if (operation) operation.nowMs ??= Date.now()
  }

  committed() {
    const operation = this.operations.at(-1)
    if (operation) operation.isCommitted = true
  }

  wrap(database: Database, tables: Tables): Database {
    this.tables = tables
    const alone = this.#noting(database, (call) => this.#inTurn(false, call))
    return Object.assign(Object.create(alone) as Database, {
      now: () => database.now(),
      transaction: <T>(work: (tx: Repositories) => Promise<T>) =>
        this.#inTurn(true, (operation) => {
          this.reached()
          return database.transaction((tx) => work(this.#noting(tx, (call) => call(operation))))
        }),
    })
  }

  async #inTurn<T>(isTransaction: boolean, work: (operation: Operation) => Promise<T>): Promise<T> {
    const tables = this.tables as Tables
    const turn = new Transaction(tables)
    await turn.lock('database', 'whole')
    const sequences = { ...tables.sequences }
    const operation = { isTransaction, isCommitted: false, nowMs: null, sequences, calls: [] }
    this.operations.push(operation)
    try {
      return await work(operation)
    } finally {
      turn.end()
    }
  }

  /** These calls only read; a case of the conformance suite compares them. */
  async *#pagesInTurn(pages: AsyncGenerator) {
    for (;;) {
      const page = await this.#inTurn(false, () => pages.next())
      if (page.done) return
      yield page.value
    }
  }

  #noting(
    repositories: Repositories,
    within: (call: (operation: Operation) => Promise<unknown>) => Promise<unknown>,
  ): Repositories {
    const noting = (repository: string, methods: Record<string, (...args: unknown[]) => unknown>) =>
      new Proxy(methods, {
        get: (_methods, method: string) => {
          const call = methods[method] as (...args: unknown[]) => Promise<unknown>
          if (method === 'deliveredJobs' || method.startsWith('started'))
            return (...args: unknown[]) => this.#pagesInTurn(call(...args) as unknown as AsyncGenerator)
          return (...args: unknown[]) =>
            within((operation) => note({ repository, method, args, atMs: Date.now(), outcome: null }, operation, call))
        },
      })
    return new Proxy(repositories, {
      get: (all, name: string) => noting(name, all[name as keyof Repositories] as never),
    })
  }
}

async function note(noted: Call, operation: Operation, call: (...args: unknown[]) => Promise<unknown>) {
  operation.calls.push(noted)
  try {
    const answer = await call(...noted.args)
    noted.outcome = { answer }
    return answer
  } catch (error) {
    if (!(error instanceof Unreachable)) noted.outcome = { refusal: (error as { code?: unknown }).code }
    throw error
  }
}
