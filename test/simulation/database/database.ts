// The database of a schedule: the repositories as they are, over rows in memory. Each statement is a crash point of its own.
import { createRepositories, type Database, type Repositories } from '../../../src/repositories/database.ts'
import type { Notifications } from '../../../src/repositories/notifications.ts'
import type { Faults } from '../faults.ts'
import { kernel } from '../kernel.ts'
import { doubleOf } from './doubles.ts'
import { runVerb } from './prisma.ts'
import type { Recorder } from './recorder.ts'
import { Session, type Rows } from './rows.ts'
import { connectionOver, statementsOver, type Send, type Sent } from './sent.ts'

export function createDatabase(rows: Rows, faults: Faults, recorder?: Recorder) {
  const listeners = new Map<string, Set<() => void>>()

  /** Of one transaction, or of one statement outside of any. */
  async function inSession<T>(work: (session: Session, commit: () => void) => Promise<T>): Promise<T> {
    const session = await begin()
    try {
      return await work(session, () => {
        if (!session.commit()) return
        recorder?.committed(session)
        for (const channel of session.notified)
          for (const listener of listeners.get(channel) ?? []) kernel().later(kernel().between(0, 30), listener)
      })
    } finally {
      session.end()
    }
  }

  async function begin(): Promise<Session> {
    const session = new Session(rows)
    if (!recorder) return session
    await session.lock('database', 'whole')
    session.nowMs = kernel().nowMs
    return session
  }

  function execute(session: Session, sent: Sent): Promise<unknown> {
    const run = () => (sent.kind === 'verb' ? runVerb(session, sent) : doubleOf(sent).run(session, valuesOf(sent)))
    return recorder ? recorder.record(session, sent, run) : run()
  }

  const alone: Send = (sent) =>
    faults.through('database', nameOf(sent), () =>
      inSession(async (session, commit) => {
        const answer = await execute(session, sent)
        commit()
        return answer
      }),
    )

  const transaction = <T>(work: (tx: Repositories) => Promise<T>): Promise<T> =>
    inSession(async (session, commit) => {
      const send: Send = (sent) => faults.through('database', `tx.${nameOf(sent)}`, () => execute(session, sent))
      const result = await work(createRepositories(connectionOver(send), statementsOver(send)))
      await faults.through('database', 'commit', commit)
      return result
    })

  const database: Database = {
    ...createRepositories(connectionOver(alone), statementsOver(alone)),
    transaction,
    check: async () => undefined,
    now: async () => new Date(kernel().nowMs),
    close: async () => undefined,
  }
  return { database, notifications: createNotifications(listeners) }
}

export const nameOf = (sent: Sent) => (sent.kind === 'verb' ? `${sent.table}.${sent.verb}` : doubleOf(sent).name)
const valuesOf = (sent: Exclude<Sent, { kind: 'verb' }>) => sent.values as never

function createNotifications(listeners: Map<string, Set<() => void>>): Notifications {
  return {
    on(channel, listener) {
      const all = listeners.get(channel) ?? new Set()
      listeners.set(channel, all.add(listener))
      return () => all.delete(listener)
    },
    next(channel, { timeoutMs, signal }) {
      return new Promise<void>((resolve) => {
        const end = () => {
          off()
          signal?.removeEventListener('abort', end)
          resolve()
        }
        const off = this.on(channel, end)
        kernel().after(timeoutMs, end)
        if (signal?.aborted) end()
        else signal?.addEventListener('abort', end, { once: true })
      })
    },
    close: async () => undefined,
  }
}
