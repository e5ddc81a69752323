// Repeats the repository calls of whole schedules on Postgres, at the same times. The simulation proves something only if its
// repositories answer as the real ones do.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { inspect, types } from 'node:util'
import { connectDatabase, type Repositories } from '../../../src/repositories/database.ts'
import { createInMemoryDatabase } from './in-memory-repositories/database.ts'
import type { Tables } from './in-memory-repositories/transactions.ts'
import { createScratchDatabase } from '../../support/scratch-database.ts'
import { takeOverTime } from './clock.ts'
import { kernel } from './kernel.ts'
import { Recorder, type Call, type Operation, type Outcome } from './recorder.ts'
import { runSchedule } from './schedule.ts'
import { datasetVersion } from './seeded-rows.ts'
import { bundleWorkflows } from './temporal/bundle.ts'
import { createSandbox } from './temporal/sandbox.ts'

/** Together these seeds make nearly every call that a schedule can make. */
const seeds = [41, 20, 25]

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>

class RolledBack extends Error {}

suite('the repositories on Postgres answer as those in memory did', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })
  const sandbox = await createSandbox(await bundleWorkflows())
  takeOverTime()

  for (const seed of seeds)
    test(`in schedule ${seed}`, async () => {
      const recorder = new Recorder()
      const { violations } = await runSchedule(seed, sandbox, { recorder })
      assert.deepEqual(violations, [])
      await scratch.clear()
      for (const { id, name, createdAt } of recorder.tables?.all('account') ?? []) {
        const values = [id, name, createdAt]
        await scratch.client.query('insert into accounts (id, name, created_at) values ($1, $2, $3)', values)
        await database.datasets.createVersion(datasetVersion(id))
      }
      for (const operation of recorder.operations)
        if (operation.nowMs !== null) await repeat(operation, operation.nowMs)
      await compareEnds(recorder.tables ?? assert.fail())
    })

  async function repeat({ calls, isTransaction, isCommitted, sequences }: Operation, nowMs: number) {
    await scratch.setNow(new Date(nowMs))
    await scratch.setSequences(sequences)
    if (!isTransaction) {
      if (isCommitted) await repeatCalls(database, calls)
      return
    }
    const repeated = database.transaction(async (tx) => {
      await repeatCalls(tx, calls)
      if (!isCommitted) throw new RolledBack()
    })
    await repeated.catch((error: unknown) => {
      if (isCommitted || !(error instanceof RolledBack)) throw error
    })
  }

  async function repeatCalls(repositories: Repositories, calls: Call[]) {
    for (const { repository, method, args, atMs, outcome } of calls) {
      kernel().nowMs = atMs
      const real = await outcomeOf(repositories, repository, method, ...args)
      // The answer to a caller that died meanwhile is not known.
      if (outcome) assert.deepEqual(plain(real, outcome), plain(outcome), `${repository}.${method}`)
      if (!outcome || 'refusal' in real) return
    }
  }

  /** Reads the rows that no later call has read. */
  async function compareEnds(tables: Tables) {
    const inMemory = createInMemoryDatabase(tables)
    const compare = async (repository: keyof Repositories, method: string, ...args: unknown[]) => {
      const expected = await outcomeOf(inMemory, repository, method, ...args)
      const real = await outcomeOf(database, repository, method, ...args)
      assert.deepEqual(plain(real, expected), plain(expected), `${repository}.${method} in the end`)
    }
    await scratch.setNow(new Date())
    for (const { id } of tables.all('trainingJob')) {
      await compare('trainingJobs', 'get', id)
      await compare('trainingSteps', 'since', id, { attempt: 0, step: 0 })
      await compare('jobEvents', 'list', id, { after: null, limit: 1000 })
    }
    for (const { jobId, number } of tables.all('attempt')) await compare('attempts', 'get', { jobId, number })
    for (const { jobId, id } of tables.all('artifact')) {
      await compare('artifacts', 'find', jobId, id)
      await compare('artifacts', 'listEvaluation', id)
    }
    for (const { accountId, name } of tables.all('model')) await compare('models', 'find', accountId, name)
    for (const { accountId, key } of tables.all('idempotencyKey'))
      await compare('idempotencyKeys', 'find', { accountId, key })
  }
})

function outcomeOf(
  repositories: Repositories,
  repository: string,
  method: string,
  ...args: unknown[]
): Promise<Outcome> {
  const methods = repositories[repository as keyof Repositories] as unknown as Methods
  const call = methods[method] ?? assert.fail(`${repository} has no ${method}`)
  return call.call(methods, ...args).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ refusal: (error as { code?: unknown }).code }),
  )
}

/**
 * The form in which answers are compared: times as numbers, numbers to nine digits, lists in one order (the conformance suite
 * compares orders), and only the fields of the in-memory answer, because rows of Postgres have more.
 */
function plain(value: unknown, like: unknown = value): unknown {
  if (types.isDate(value)) return value.getTime()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (typeof value === 'number') return Number(value.toPrecision(9))
  if (Array.isArray(value)) return value.map((each) => plain(each)).toSorted(byText)
  if (typeof value !== 'object' || value === null || typeof like !== 'object' || like === null) return value
  const fields = Object.keys(like).toSorted()
  return Object.fromEntries(
    fields.map((field) => [field, plain(value[field as keyof object], like[field as keyof object])]),
  )
}

const byText = (a: unknown, b: unknown) => (inspect(a) < inspect(b) ? -1 : 1)
