// The database of a schedule: the in-memory repositories behind a network that fails. Each statement is a crash point.
import type { Notifications } from '../../../src/repositories/notifications.ts'
import { createInMemoryDatabase } from './in-memory-repositories/database.ts'
import { Tables, type Change } from './in-memory-repositories/transactions.ts'
import type { Faults } from './faults.ts'
import { fail, kernel, place } from './kernel.ts'
import type { Recorder } from './recorder.ts'

export function createDatabase(faults: Faults, onCommit: (changes: Change[]) => void, recorder: Recorder | undefined) {
  const listeners = new Map<string, Set<() => void>>()
  const tables = new Tables({
    onCommit(changes) {
      recorder?.committed()
      onCommit(changes)
    },
    onNotify(channel) {
      for (const listener of listeners.get(channel) ?? []) kernel().later(kernel().between(0, 30), listener)
    },
    watchProcess() {
      const { proc } = place()
      return () => proc.isAlive
    },
  })
  const through = <T>(name: string, effect: () => Promise<T>) =>
    faults.through('database', name, () => {
      recorder?.reached()
      return effect()
    })
  const database = createInMemoryDatabase(tables, { through, fail })
  const seen = recorder?.wrap(database, tables) ?? database
  return { tables, database: seen, notifications: createNotifications(listeners) }
}

function createNotifications(listeners: Map<string, Set<() => void>>): Notifications {
  return {
    onJob: () => () => undefined,
    onAccessEnd: () => () => undefined,
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
