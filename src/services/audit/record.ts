import type { WorkKind } from '../../domain/durable-work.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'

/** The caller, and the account that the action concerns: null for the whole installation. */
export type AuditOrigin = Pick<Ctx, 'apiKeyId' | 'origin' | 'person'> & { accountId: string | null }

export type AuditAction =
  | 'account.create'
  | 'account.delete'
  | 'account.priority'
  | `${WorkKind}.${'create' | 'cancel'}`
  | 'data.announce'
  | 'data.columns'
  | 'data.delete'
  | 'data.store'
  | 'data.upload'
  | 'eval.create'
  | 'eval.delete'
  | 'eval.run.create'
  | 'eval.run.delete'
  | 'eval.update'
  | 'import.data'
  | 'import.job'
  | 'job.cancel'
  | 'job.pause'
  | 'job.resume'
  | 'job.submit'
  | 'maintenance.begin'
  | 'maintenance.end'
  | 'key.create'
  | 'key.revoke'
  | 'key.rotate'
  | 'model.alias'
  | 'model.delete'
  | 'model.unalias'
  | 'person.enter'
  | 'session.create'
  | 'session.end'
  | 'session.link'
  | 'webhook.create'
  | 'webhook.delete'
  | 'webhook.remove_secret'
  | 'webhook.replay'
  | 'webhook.rotate'
  | 'webhook.update'

/** Call it in the transaction of the recorded write. */
export async function recordAudit(
  tx: Pick<Repositories, 'auditEvents'>,
  { accountId, apiKeyId, origin, person }: AuditOrigin,
  action: AuditAction,
  target: string | number,
) {
  await tx.auditEvents.add({ accountId, apiKeyId, action, target: String(target), person: person ?? null, ...origin })
}
