// The repositories of jobs over tables in memory. test/repositories/conformance holds them to what the real ones do on
// Postgres; a method that the real ones lost or changed is refused by the compiler.
import type { Database, Repositories } from '../../../../src/repositories/database.ts'
import { accounts, auditEvents, datasets } from './accounts.ts'
import { artifacts, models } from './artifacts.ts'
import { attempts } from './attempts.ts'
import { durableWork } from './durable-work.ts'
import { idempotencyKeys } from './idempotency-keys.ts'
import { jobAcceptance } from './job-acceptance.ts'
import { outbox } from './outbox.ts'
import { reaper } from './reaper-queries.ts'
import { jobEvents, trainingJobs, trainingSteps } from './training-jobs.ts'
import { installation, jobDetails } from './labels.ts'
import { Transaction, type Tables } from './transactions.ts'

/** Runs one statement: in its transaction, or as one of its own. */
export type Connection = {
  run<T>(name: string, statement: (tx: Transaction) => T | Promise<T>): Promise<T>
}

/** A repository with those of its methods that the tests need. */
export type InMemory<Name extends keyof Repositories> = Partial<Repositories[Name]>

type Hooks = {
  /** The way to the database and back, around each statement and each commit. */
  through?: <T>(name: string, effect: () => Promise<T>) => Promise<T>
  /** A method that is not there was called. */
  fail?: (error: Error) => never
}

export function createInMemoryDatabase(tables: Tables, hooks: Hooks = {}): Database {
  const { through = (_name, effect) => effect(), fail = raise } = hooks

  async function inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const tx = new Transaction(tables)
    try {
      return await work(tx)
    } finally {
      tx.end()
    }
  }

  const alone: Connection = {
    run: (name, statement) =>
      through(name, () =>
        inTransaction(async (tx) => {
          const answer = await statement(tx)
          tx.commit()
          return answer
        }),
      ),
  }

  return {
    ...createRepositories(alone, fail),
    transaction: (work) =>
      inTransaction(async (tx) => {
        const within: Connection = {
          run: (name, statement) => through(`tx.${name}`, async () => statement(tx)),
        }
        const result = await work(createRepositories(within, fail))
        await through('commit', async () => void tx.commit())
        return result
      }),
    check: async () => undefined,
    now: async () => new Date(),
    close: async () => undefined,
  }
}

/** By repository: a test compares them with those that it has called. */
export const inMemoryRepositories = {
  accounts,
  artifacts,
  attempts,
  auditEvents,
  datasets,
  durableWork,
  idempotencyKeys,
  installation,
  jobAcceptance,
  jobDetails,
  jobEvents,
  models,
  outbox,
  trainingJobs,
  trainingSteps,
  reaper,
} satisfies { [Name in keyof Repositories]?: (db: Connection) => InMemory<Name> }

function createRepositories(db: Connection, fail: (error: Error) => never): Repositories {
  const made = Object.entries(inMemoryRepositories).map(([name, create]) => [
    name,
    onlyKnown<object>(name, create(db), fail),
  ])
  return onlyKnown('the database', Object.fromEntries(made) as Partial<Repositories>, fail)
}

const onlyKnown = <T extends object>(name: string, known: Partial<T>, fail: (error: Error) => never): T =>
  new Proxy(known as T, {
    get: (target, member: string) =>
      member in target || member === 'then'
        ? target[member as keyof T]
        : fail(
            new Error(
              `${name} has no ${member} in test/lab/simulation/in-memory-repositories: add it, and a conformance case`,
            ),
          ),
  })

function raise(error: Error): never {
  throw error
}
