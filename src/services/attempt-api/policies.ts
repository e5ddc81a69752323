// Policies: the adapters from which model servers sample the answers of a training. A policy is loaded only while its row is
// there: it is unloaded first, and the row goes last. So whatever a crash leaves is found by its row.
import { policyName } from '../../domain/rollouts.ts'
import type { Inference } from '../../inference/inference.ts'
import type { Log } from '../../log.ts'
import type { Database } from '../../repositories/database.ts'
import type { Storage } from '../../storage/storage.ts'

type Dependencies = {
  database: Pick<Database, 'retention'>
  inference: Pick<Inference, 'unloadAdapter'>
  storage: Pick<Storage, 'remove'>
  log: Pick<Log, 'warn'>
}

const perPortion = 100
const beforeAll = '00000000-0000-0000-0000-000000000000'

/**
 * Removes policies from which no answer is sampled any more. One that a replica still holds stays for the next time.
 * @param jobId absent for those of all jobs
 * @returns their number
 */
export async function removeOldPolicies(deps: Dependencies, jobId: number | null = null): Promise<number> {
  const { retention } = deps.database
  for (let [count, last] = [0, beforeAll]; ;) {
    const old = await retention.oldPolicies(jobId, last, perPortion)
    for (const policy of old) if (await remove(deps, policy)) count++
    if (old.length < perPortion) return count
    last = old.at(-1)?.id ?? last
  }
}

type OldPolicy = Awaited<ReturnType<Database['retention']['oldPolicies']>>[number]

async function remove({ database: { retention }, inference, storage, log }: Dependencies, policy: OldPolicy) {
  const { id, jobId, step, files, baseModel } = policy
  try {
    // Hidden first: nobody loads it again.
    await retention.hideArtifacts([id])
    await inference.unloadAdapter(baseModel, policyName(jobId, step))
    await storage.remove(files.map(({ key }) => key))
    await retention.deleteArtifacts([id])
    return true
  } catch (error) {
    log.warn({ err: error, jobId, step }, 'failed to remove a policy, which stays for the next round')
    return false
  }
}
