// As much of the Prisma client as the repositories of jobs use, over rows in memory. What it does not know, it refuses.
import { fail } from '../kernel.ts'
import { DatabaseError, type Row, type Session } from './rows.ts'
import { insert, tableNames } from './tables.ts'

type Where = Record<string, unknown>
type Args = { where?: Where; data?: Row | Row[]; orderBy?: Row | Row[]; take?: number; skipDuplicates?: boolean }
type Verb = (session: Session, table: string, args: Args) => Promise<unknown>

export function runVerb(session: Session, { table, verb, args }: { table: string; verb: string; args: object }) {
  const run = verbs[verb]
  if (!run || !tableNames.includes(table))
    return fail(new Error(`the simulated database does not know ${table}.${verb}`))
  return run(session, table, args)
}

const verbs: Record<string, Verb> = {
  findMany: async (...on) => all(...on),
  findFirst: async (...on) => all(...on)[0] ?? null,
  findUnique: async (...on) => all(...on)[0] ?? null,
  findUniqueOrThrow: async (...on) => all(...on)[0] ?? missing(on[1]),
  count: async (...on) => all(...on).length,
  updateMany: async (...on) => ({ count: (await update(...on)).length }),
  update: async (...on) => (await update(...on))[0] ?? missing(on[1]),
  create: (session, table, { data }) => insert(session, table, data as Row),
  createMany: async (session, table, { data, skipDuplicates = false }) => {
    let count = 0
    for (const row of data as Row[])
      await insert(session, table, row).then(
        () => count++,
        (error: unknown) => {
          if (!(skipDuplicates && error instanceof DatabaseError && error.code === 'P2002')) throw error
        },
      )
    return { count }
  },
  deleteMany: async (session, table, { where = {} }) => ({
    count: (await session.update(table, matcher(table, where), () => null)).length,
  }),
}

function all(session: Session, table: string, { where = {}, orderBy, take }: Args): Row[] {
  const rows = session.all(table, matcher(table, where)).map(([, row]) => row)
  return rows.toSorted(order(orderBy)).slice(0, take)
}

const update = (session: Session, table: string, { where = {}, data }: Args) =>
  session.update(table, matcher(table, where), (row) => changed(row, data as Row))

function missing(table: string): never {
  throw new DatabaseError('P2025', `no such ${table}`)
}

const changed = (row: Row, data: Row): Row => ({
  ...row,
  ...Object.fromEntries(Object.entries(data).map(([field, value]) => [field, changedValue(row[field], value)])),
})

function changedValue(old: unknown, value: unknown): unknown {
  if (value === undefined) return old
  return isObject(value) && 'increment' in value ? Number(old) + Number(value['increment']) : value
}

const isObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** A compound key is an object named after its fields. */
function matcher(table: string, where: Where): (row: Row) => boolean {
  const flat = Object.entries(where).flatMap(([name, value]) =>
    name.includes('_') && isObject(value) ? Object.entries(value) : [[name, value] as const],
  )
  return (row) => flat.every(([field, wanted]) => matches(row[field], wanted, `${table}.${field}`))
}

function matches(value: unknown, wanted: unknown, name: string): boolean {
  if (wanted === undefined) return true
  if (wanted === null) return value === null
  if (wanted instanceof Uint8Array) return Buffer.compare(value as Uint8Array, wanted) === 0
  if (!isObject(wanted)) return value === wanted
  return Object.entries(wanted).every(([operator, operand]) => {
    if (operator === 'in') return (operand as unknown[]).includes(value)
    // As in SQL, what is null is neither.
    if (operator === 'not') return operand === null ? value !== null : value !== null && value !== operand
    if (operator === 'lt') return value !== null && (value as number) < (operand as number)
    if (operator === 'gt') return value !== null && (value as number) > (operand as number)
    // Prisma.AnyNull is all that is asked so.
    if (operator === 'equals') return value === null
    return fail(new Error(`the simulated database does not know ${operator} of ${name}`))
  })
}

function order(orderBy: Row | Row[] | undefined): (a: Row, b: Row) => number {
  const by = [orderBy ?? []].flat().flatMap((each) => Object.entries(each))
  return (a, b) => {
    for (const [field, direction] of by) {
      const [x, y] = [a[field] as number, b[field] as number]
      if (x < y) return direction === 'asc' ? -1 : 1
      if (x > y) return direction === 'asc' ? 1 : -1
    }
    return 0
  }
}
