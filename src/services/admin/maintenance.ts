import type { Maintenance } from '../../domain/wait.ts'
import { recordAudit } from '../audit/record.ts'
import type { AdminCtx } from '../context.ts'
import { requireOperator } from './accounts.ts'

/** Null while new work starts. @throws ServiceError invalid_token */
export async function getMaintenance({ admin }: { admin: AdminCtx }): Promise<Maintenance | null> {
  requireOperator(admin)
  return admin.deps.database.installation.maintenance()
}

/**
 * Stops new work, or lets it go on. A repeat changes only the message. Accepted work waits and says why.
 * @throws ServiceError invalid_token
 */
export async function setMaintenance({
  admin,
  input: { isOn, message },
}: {
  admin: AdminCtx
  input: { isOn: boolean; message: string }
}): Promise<Maintenance | null> {
  requireOperator(admin)
  return admin.deps.database.transaction(async (tx) => {
    await tx.installation.setMaintenance(isOn ? message : null)
    await recordAudit(tx, admin, isOn ? 'maintenance.begin' : 'maintenance.end', 'installation')
    return tx.installation.maintenance()
  })
}
