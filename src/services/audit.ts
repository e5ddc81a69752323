import type { Repositories } from '../repositories/database.ts'
import type { Ctx } from './context.ts'

/** Within the transaction of the write that it records. */
export async function recordAudit(
  tx: Pick<Repositories, 'auditEvents'>,
  { accountId, apiKeyId, origin }: Pick<Ctx, 'accountId' | 'apiKeyId' | 'origin'>,
  action: AuditAction,
  target: string | number,
) {
  await tx.auditEvents.add({ accountId, apiKeyId, action, target: String(target), ...origin })
}

export type AuditAction =
  | 'account.create'
  | 'account.delete'
  | 'data.append'
  | 'data.delete'
  | 'data.upload'
  | 'batch.create'
  | 'job.cancel'
  | 'job.resume'
  | 'job.submit'
  | 'key.create'
  | 'key.revoke'
  | 'key.rotate'
  | 'model.delete'
