// Tables in memory with what our transactions rely on: read committed, row locks until the end, unique keys.
import { kernel, place, type Proc } from '../kernel.ts'

export type Row = Record<string, unknown>
export type Change = { table: string; before: Row | null; after: Row | null }
type Mode = 'share' | 'update'
type Lock = { session: Session; mode: Mode }

export class DatabaseError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const lockWaitMs = 30_000
const longestLookMs = 500

export class Rows {
  readonly tables = new Map<string, Map<string, Row>>()
  readonly locks = new Map<string, Lock[]>()
  readonly #sequences = new Map<string, number>()
  readonly onCommit: (changes: Change[]) => void

  constructor(onCommit: (changes: Change[]) => void) {
    this.onCommit = onCommit
  }

  table(name: string): Map<string, Row> {
    let table = this.tables.get(name)
    if (!table) this.tables.set(name, (table = new Map()))
    return table
  }

  /** Numbers that were drawn are gone, whatever becomes of the transaction. */
  next(table: string): number {
    const number = (this.#sequences.get(table) ?? 0) + 1
    this.#sequences.set(table, number)
    return number
  }
}

/** One transaction, or one statement outside of any. Of a dead process nothing counts any more. */
export class Session {
  readonly #rows: Rows
  readonly #proc: Proc
  readonly #written = new Map<string, Map<string, Row | null>>()
  readonly #held = new Set<string>()
  readonly notified = new Set<string>()
  /** When it began, which is what `now()` says until its end. */
  nowMs = kernel().nowMs
  #isOver = false

  constructor(rows: Rows) {
    this.#rows = rows
    this.#proc = place().proc
  }

  get isGone() {
    return this.#isOver || !this.#proc.isAlive
  }

  next = (table: string) => this.#rows.next(table)

  get(table: string, key: string): Row | null {
    const own = this.#written.get(table)?.get(key)
    return own === undefined ? (this.#rows.table(table).get(key) ?? null) : own
  }

  all(table: string, is: (row: Row) => boolean = () => true): [key: string, row: Row][] {
    const own = this.#written.get(table)
    const found: [string, Row][] = []
    for (const [key, row] of this.#rows.table(table)) if (!own?.has(key) && is(row)) found.push([key, row])
    for (const [key, row] of own ?? []) if (row && is(row)) found.push([key, row])
    return found
  }

  /** Waits for whoever holds it otherwise. */
  async lock(table: string, key: string, mode: Mode = 'update') {
    const name = `${table}/${key}`
    const deadline = kernel().nowMs + lockWaitMs
    for (let waitMs = 2; this.#conflicts(name, mode); waitMs = Math.min(2 * waitMs, longestLookMs)) {
      if (kernel().nowMs > deadline) throw new DatabaseError('P2034', `waited too long for ${name}`)
      await kernel().sleep(waitMs)
    }
    const holders = this.#rows.locks.get(name) ?? []
    this.#rows.locks.set(name, [...holders.filter((each) => !each.session.isGone), { session: this, mode }])
    this.#held.add(name)
  }

  isLocked = (table: string, key: string) => this.#conflicts(`${table}/${key}`, 'update')

  #conflicts(name: string, mode: Mode): boolean {
    const holders = this.#rows.locks.get(name) ?? []
    return holders.some(
      (each) => each.session !== this && !each.session.isGone && (mode === 'update' || each.mode === 'update'),
    )
  }

  /** Those that still match once they are held. */
  async update(table: string, is: (row: Row) => boolean, change: (row: Row) => Row | null): Promise<Row[]> {
    const updated: Row[] = []
    for (const [key] of this.all(table, is)) {
      await this.lock(table, key)
      const row = this.get(table, key)
      if (!row || !is(row)) continue
      const next = change(row)
      this.put(table, key, next)
      updated.push(next ?? row)
    }
    return updated
  }

  put(table: string, key: string, row: Row | null) {
    let own = this.#written.get(table)
    if (!own) this.#written.set(table, (own = new Map()))
    own.set(key, row)
  }

  /** @returns whether it counts: not when its process died */
  commit(): boolean {
    if (this.isGone) return false
    const changes: Change[] = []
    for (const [table, own] of this.#written)
      for (const [key, after] of own) {
        const committed = this.#rows.table(table)
        changes.push({ table, before: committed.get(key) ?? null, after })
        if (after) committed.set(key, after)
        else committed.delete(key)
      }
    this.end()
    this.#rows.onCommit(changes)
    return true
  }

  end() {
    this.#isOver = true
    for (const name of this.#held) {
      const left = (this.#rows.locks.get(name) ?? []).filter((each) => each.session !== this)
      if (left.length > 0) this.#rows.locks.set(name, left)
      else this.#rows.locks.delete(name)
    }
  }
}
