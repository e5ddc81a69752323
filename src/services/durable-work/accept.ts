import type { Repositories } from '../../repositories/database.ts'
import { recordAudit, type AuditAction } from '../audit/record.ts'
import type { Ctx } from '../context.ts'

type NewWork = {
  /** Exact, because the account is held. @throws ServiceError quota_exceeded */
  requireRoom: () => Promise<void>
  create: () => Promise<void>
  audit: { action: AuditAction; target: string }
}

/** Accepts durable work: a row, which waits for a turn. @throws what `requireRoom` and `create` throw */
export async function acceptWork(tx: Repositories, ctx: Ctx, { requireRoom, create, audit }: NewWork): Promise<void> {
  await tx.accounts.hold(ctx.accountId)
  await requireRoom()
  await create()
  await tx.durableWork.wait()
  await recordAudit(tx, ctx, audit.action, audit.target)
}
