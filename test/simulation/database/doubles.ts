// The SQL of the repositories of jobs, statement by statement, over rows in memory. Each double belongs to one text: a
// statement that was changed has none until its double was looked at. test/simulation/simulated-database.db.test.ts runs
// both on the same inputs.
import { createHash } from 'node:crypto'
import { fail } from '../kernel.ts'
import type { Session } from './rows.ts'
import type { Sent } from './sent.ts'
import { acceptanceDoubles } from './sql-acceptance.ts'
import { attemptDoubles } from './sql-attempts.ts'
import { outboxDoubles } from './sql-outbox.ts'
import { trainingJobDoubles } from './sql-training-jobs.ts'
import { upkeepDoubles } from './sql-upkeep.ts'

/** Whatever the statement takes. What it answers; undefined where nobody reads it. */
type Values = [never, never, never, never, never, never, never, never, never]
type Run = (session: Session, values: Values) => Promise<unknown>

/** By name: the beginning of the hash of its text, without line breaks, and what it does. */
export type Doubles = Record<string, readonly [sha: string, run: Run]>

type Double = { name: string; run: Run }

const bySha = new Map<string, Double>()
for (const doubles of [acceptanceDoubles, attemptDoubles, outboxDoubles, trainingJobDoubles, upkeepDoubles])
  for (const [name, [sha, run]] of Object.entries(doubles)) bySha.set(sha, { name, run })

export const doubleNames = () => [...bySha.values()].map(({ name }) => name)

const found = new Map<string | TemplateStringsArray, Double>()

export function doubleOf(sent: Exclude<Sent, { kind: 'verb' }>): Double {
  const key = sent.kind === 'template' ? sent.strings : sent.statement.text
  const known = found.get(key) ?? find(typeof key === 'string' ? key : key.join('?'))
  found.set(key, known)
  return known
}

function find(text: string): Double {
  const normal = text.replaceAll(/\s+/g, ' ').trim()
  const sha = createHash('sha256').update(normal).digest('hex').slice(0, 8)
  return bySha.get(sha) ?? fail(new Error(`no double in test/simulation/database has the hash ${sha} of: ${normal}`))
}
