import { setTimeout as sleep } from 'node:timers/promises'
import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { accountFolders, jobFolder } from '../../domain/storage-keys.ts'
import { recordAudit } from '../audit/record.ts'
import { removeOldPolicies } from '../attempt-api/policies.ts'
import { cancelAllTrainingJobs } from '../training-jobs/cancel-all.ts'
import type { AdminCtx } from '../context.ts'
import { findAccount, requireOperator } from './accounts.ts'

/** Covers the time in which an api process may accept a revoked key, and the run time of such a request. */
const keysForgottenMs = 2000
const jobsReleasedMs = 30_000
const lookAgainMs = 250
const jobsPerPage = 100

/**
 * Revokes the keys, cancels the jobs, then removes every object and every row except the audit trail. A repeat continues
 * a request that was interrupted.
 * @throws ServiceError invalid_token, not_found; unavailable while jobs are still being released
 */
export async function deleteAccount({ admin, input: { id } }: { admin: AdminCtx; input: { id: string } }) {
  requireOperator(admin)
  await findAccount(admin, id)
  const { database, storage } = admin.deps
  const by = { ...admin, accountId: id }
  const revoked = await database.transaction(async (tx) => {
    await recordAudit(tx, by, 'account.delete', id)
    return tx.apiKeys.revokeAll(id, new Date())
  })
  if (revoked > 0) await sleep(keysForgottenMs)
  await cancelAllTrainingJobs(by)
  await untilNothingRuns(admin, id)
  let [objects, jobs] = [0, 0]
  for (;;) {
    const ids = await database.accountData.someJobIds(id, jobsPerPage)
    if (ids.length === 0) break
    for (const jobId of ids) {
      // Model servers hold them by name, which goes with the row.
      await removeOldPolicies(admin.deps, jobId)
      objects += await storage.removeFolder(jobFolder(jobId))
    }
    jobs += await database.transaction((tx) => tx.accountData.deleteJobs(ids, ids.map(fineTuneWorkflowId)))
  }
  for (const folder of accountFolders(id)) objects += await storage.removeFolder(folder)
  await database.transaction((tx) => tx.accountData.deleteAccount(id))
  return { id, objects, jobs }
}

async function untilNothingRuns({ deps: { database } }: AdminCtx, id: string) {
  for (const deadline = performance.now() + jobsReleasedMs; ; await sleep(lookAgainMs)) {
    if (!(await database.accountData.isBusy(id))) return
    if (performance.now() >= deadline)
      throw new ServiceError('unavailable', 'Jobs of this account are still being released. Repeat the request.', {
        retryAfterSeconds: 5,
      })
  }
}
