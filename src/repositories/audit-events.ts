import type { Person } from '../domain/person.ts'
import type { Connection } from './connection.ts'

export type AuditEvent = {
  id: string
  at: Date
  accountId: string | null
  apiKeyId: string | null
  action: string
  target: string | null
  requestId: string | null
  address: string | null
  /** The person who acted, if the key stands for one. */
  person: Person | null
}

export const createAuditEventRepository = (db: Connection) => ({
  async add({ accountId, apiKeyId, action, target, requestId, address, person }: Omit<AuditEvent, 'id' | 'at'>) {
    await db.$executeRaw`
      insert into audit_events (account_id, api_key_id, action, target, request_id, address, person_subject, person_mail)
      values (${accountId}::uuid, ${apiKeyId}, ${action}, ${target}, ${requestId}, ${address},
        ${person?.subject ?? null}, ${person?.mail ?? null})`
  },

  /** Lists events before the one with the id `before`, newest first. */
  async list(accountId: string, { before, limit }: { before: bigint | null; limit: number }): Promise<AuditEvent[]> {
    const rows = await db.auditEvent.findMany({
      where: { accountId, ...(before === null ? {} : { id: { lt: before } }) },
      orderBy: { id: 'desc' },
      take: limit,
    })
    return rows.map(({ personSubject, personMail, ...row }) => ({
      ...row,
      id: String(row.id),
      person: personSubject === null ? null : { subject: personSubject, mail: personMail },
    }))
  },
})
