// Tables in memory with what the repositories rely on: read committed, row locks until the end, unique keys, sequences.
import { setTimeout as sleep } from 'node:timers/promises'
import type { NotificationChannel } from '../../../../src/repositories/notifications.ts'
import { keyOf, tableNames, uniqueKeys, type Rows, type TableName } from './tables.ts'

export type Change = {
  [Name in TableName]: { table: Name; before: Rows[Name] | null; after: Rows[Name] | null }
}[TableName]

/** `code` is Prisma's: P2002 for a taken key, P2025 for a missing row, P2034 for a lock that was not free in time. */
export class DatabaseError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

type Hooks = {
  onCommit?: (changes: Change[]) => void
  onNotify?: (channel: NotificationChannel) => void
  /** Called when a transaction begins. Its answer says later whether the process of that transaction still lives. */
  watchProcess?: () => () => boolean
}

type Sequence = 'jobEvent' | 'outboxMessage' | 'trainingJob'

const lockWaitMs = 30_000
const longestLookMs = 500

export class Tables {
  readonly hooks: Hooks
  readonly sequences: Record<Sequence, number> = { jobEvent: 0, outboxMessage: 0, trainingJob: 0 }
  /** The holder of each lock, by its name. */
  readonly locks = new Map<string, Transaction>()
  readonly #rows = new Map<TableName, Map<string, object>>(tableNames.map((name) => [name, new Map()]))

  constructor(hooks: Hooks = {}) {
    this.hooks = hooks
  }

  of<Name extends TableName>(name: Name): Map<string, Rows[Name]> {
    return this.#rows.get(name) as Map<string, Rows[Name]>
  }

  all<Name extends TableName>(name: Name, is: (row: Rows[Name]) => boolean = () => true): Rows[Name][] {
    return [...this.of(name).values()].filter(is)
  }
}

/** A dead process writes nothing and holds no lock. */
export class Transaction {
  /** What `now()` says until the end. */
  readonly now = new Date()
  readonly #tables: Tables
  readonly #isAlive: () => boolean
  readonly #written = new Map<TableName, Map<string, object | null>>()
  readonly #held = new Set<string>()
  readonly #notified = new Set<NotificationChannel>()
  #isOver = false

  constructor(tables: Tables) {
    this.#tables = tables
    this.#isAlive = tables.hooks.watchProcess?.() ?? (() => true)
  }

  get isGone() {
    return this.#isOver || !this.#isAlive()
  }

  /** A rollback does not give a number back. */
  next = (sequence: Sequence) => ++this.#tables.sequences[sequence]

  notify = (channel: NotificationChannel) => void this.#notified.add(channel)

  get<Name extends TableName>(table: Name, ...key: (string | number | bigint)[]): Rows[Name] | null {
    const name = key.join('/')
    const own = this.#own(table)?.get(name)
    return own === undefined ? (this.#tables.of(table).get(name) ?? null) : own
  }

  all<Name extends TableName>(table: Name, is: (row: Rows[Name]) => boolean = () => true): Rows[Name][] {
    const own = this.#own(table)
    const found: Rows[Name][] = []
    for (const [key, row] of this.#tables.of(table)) if (!own?.has(key) && is(row)) found.push(row)
    for (const row of own?.values() ?? []) if (row && is(row)) found.push(row)
    return found
  }

  find<Name extends TableName>(table: Name, is: (row: Rows[Name]) => boolean): Rows[Name] | null {
    return this.all(table, is)[0] ?? null
  }

  async lock(table: string, ...key: (string | number | bigint)[]) {
    const name = `${table}/${key.join('/')}`
    const deadlineMs = Date.now() + lockWaitMs
    for (let waitMs = 2; this.#isHeldByOther(name); waitMs = Math.min(2 * waitMs, longestLookMs)) {
      if (Date.now() > deadlineMs) throw new DatabaseError('P2034', `${name} was locked for ${lockWaitMs} ms`)
      await sleep(waitMs)
    }
    this.#tables.locks.set(name, this)
    this.#held.add(name)
  }

  isLocked = (table: TableName, key: string | number | bigint) => this.#isHeldByOther(`${table}/${key}`)

  #isHeldByOther(name: string): boolean {
    const holder = this.#tables.locks.get(name)
    return holder !== undefined && holder !== this && !holder.isGone
  }

  /** Changes the rows that still match once they are locked. @returns them as they are now */
  async update<Name extends TableName>(
    table: Name,
    is: (row: Rows[Name]) => boolean,
    change: (row: Rows[Name]) => Partial<Rows[Name]>,
  ): Promise<Rows[Name][]> {
    const updated = await this.#lockMatching(table, is)
    return updated.map((row) => this.put(table, { ...row, ...change(row) }))
  }

  /** @throws DatabaseError P2025 when nothing matches */
  async updateOne<Name extends TableName>(
    table: Name,
    is: (row: Rows[Name]) => boolean,
    change: (row: Rows[Name]) => Partial<Rows[Name]>,
  ): Promise<Rows[Name]> {
    const [row] = await this.update(table, is, change)
    if (!row) throw new DatabaseError('P2025', `no ${table} matches`)
    return row
  }

  async delete<Name extends TableName>(table: Name, is: (row: Rows[Name]) => boolean) {
    for (const row of await this.#lockMatching(table, is)) this.#write(table, primaryKey(table, row), null)
  }

  async #lockMatching<Name extends TableName>(table: Name, is: (row: Rows[Name]) => boolean): Promise<Rows[Name][]> {
    const matching: Rows[Name][] = []
    for (const found of this.all(table, is)) {
      const key = primaryKey(table, found)
      await this.lock(table, key)
      const row = this.get(table, key)
      if (row && is(row)) matching.push(row)
    }
    return matching
  }

  /** @throws DatabaseError P2002 when a unique key is taken */
  async insert<Name extends TableName>(table: Name, row: Rows[Name]): Promise<Rows[Name]> {
    for (const fields of uniqueKeys[table]) {
      const key = keyOf(row, fields)
      // A unique index also waits for another transaction that inserts the same key.
      await this.lock(`${table} ${fields.join()}`, key)
      if (this.find(table, (other) => keyOf(other, fields) === key))
        throw new DatabaseError('P2002', `${table}: ${fields.join()} ${key} is taken`)
    }
    return this.put(table, row)
  }

  put<Name extends TableName>(table: Name, row: Rows[Name]): Rows[Name] {
    this.#write(table, primaryKey(table, row), row)
    return row
  }

  #write(table: TableName, key: string, row: object | null) {
    const own = this.#written.get(table)
    if (own) own.set(key, row)
    else this.#written.set(table, new Map([[key, row]]))
  }

  #own = <Name extends TableName>(table: Name) => this.#written.get(table) as Map<string, Rows[Name] | null> | undefined

  /** @returns whether it counts: not when its process died */
  commit(): boolean {
    if (this.isGone) return false
    const changes: Change[] = []
    for (const [table, own] of this.#written)
      for (const [key, after] of own) {
        const committed = this.#tables.of(table) as Map<string, object>
        changes.push({ table, before: committed.get(key) ?? null, after } as Change)
        if (after) committed.set(key, after)
        else committed.delete(key)
      }
    this.end()
    this.#tables.hooks.onCommit?.(changes)
    for (const channel of this.#notified) this.#tables.hooks.onNotify?.(channel)
    return true
  }

  end() {
    this.#isOver = true
    for (const name of this.#held) if (this.#tables.locks.get(name) === this) this.#tables.locks.delete(name)
  }
}

const primaryKey = (table: TableName, row: object) => keyOf(row, uniqueKeys[table][0] ?? [])
