import type { Connection } from './database.ts'

export type AuditEvent = {
  id: string
  at: Date
  accountId: string | null
  apiKeyId: string | null
  action: string
  target: string | null
  requestId: string | null
  address: string | null
}

export const createAuditEventRepository = (db: Connection) => ({
  async add(event: Omit<AuditEvent, 'id' | 'at'>) {
    await db.auditEvent.create({ data: event })
  },

  /** Newest first, before the event with the id `before`. */
  async list(accountId: string, { before, limit }: { before: bigint | null; limit: number }): Promise<AuditEvent[]> {
    const rows = await db.auditEvent.findMany({
      where: { accountId, ...(before === null ? {} : { id: { lt: before } }) },
      orderBy: { id: 'desc' },
      take: limit,
    })
    return rows.map((row) => ({ ...row, id: String(row.id) }))
  },
})
