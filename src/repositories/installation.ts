import type { Maintenance } from '../domain/wait.ts'
import type { Connection } from './connection.ts'
import { notify } from './notifications.ts'

/** SQL that is true while an operator has stopped new work. */
export const isInMaintenance = 'exists (select from installation where maintenance_since is not null)'

export const createInstallationRepository = (db: Connection) => ({
  /** Never changes by itself. A copy of the database has the same id. */
  async id(): Promise<string> {
    const [row] = await db.$queryRaw<{ id: string }[]>`select id::text from installation`
    if (!row) throw new Error('the table installation has no row: restore it from a backup, see docs/operations.md')
    return row.id
  },

  /** Null while new work starts. */
  async maintenance(): Promise<Maintenance | null> {
    const [row] = await db.$queryRaw<{ since: Date | null; message: string }[]>`
      select maintenance_since as since, coalesce(maintenance_message, '') as message from installation`
    return row?.since ? { since: row.since, message: row.message } : null
  },

  /** Stops new work; a repeat changes only the message. Null lets new work go on. Wakes the schedulers of all workers. */
  async setMaintenance(message: string | null) {
    await db.$executeRaw`
      update installation set maintenance_message = ${message}::text,
        maintenance_since = case when ${message}::text is not null then coalesce(maintenance_since, now()) end`
    await notify(db, 'slots')
    await notify(db, 'work')
  },
})
