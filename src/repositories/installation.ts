import type { Connection } from './connection.ts'

export const createInstallationRepository = (db: Connection) => ({
  /** Never changes by itself. A copy of the database has the same id. */
  async id(): Promise<string> {
    const [row] = await db.$queryRaw<{ id: string }[]>`select id::text from installation`
    if (!row) throw new Error('the table installation has no row: restore it from a backup, see docs/operations.md')
    return row.id
  },
})
