import { invalidInput } from '../../domain/service-error.ts'
import type { AuditEvent } from '../../repositories/audit-events.ts'
import type { Ctx } from '../context.ts'

/** Lists audit events, newest first. @throws ServiceError invalid_input */
export async function listAuditEvents({
  ctx: { deps, accountId },
  input: { after, limit },
}: {
  ctx: Ctx
  input: { after?: string | undefined; limit: number }
}): Promise<{ events: AuditEvent[]; next: string | null }> {
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  const before = after === undefined ? null : BigInt(after)
  const events = await deps.database.auditEvents.list(accountId, { before, limit })
  return { events, next: events.length === limit ? (events.at(-1)?.id ?? null) : null }
}
