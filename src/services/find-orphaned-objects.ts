// Finds objects that no row names.
import { ownerOfKey, type KeyOwner } from '../domain/storage-keys.ts'
import type { Repositories } from '../repositories/database.ts'

export type OwnedKey = { key: string; owner: KeyOwner }

type Tables = Pick<Repositories, 'datasets' | 'artifacts' | 'trainingJobs' | 'models' | 'inferenceBatches'>

/** Leaves out unknown keys, and the keys of running batches, whose rows may name them later. */
export async function findOrphanedObjects(tables: Tables, keys: readonly string[]): Promise<OwnedKey[]> {
  const owned = keys.flatMap((key) => {
    const owner = ownerOfKey(key)
    return owner ? [{ key, owner }] : []
  })
  const idsOf = (kind: 'version' | 'artifact' | 'batch') =>
    owned.flatMap(({ owner }) => (owner.kind === kind ? owner.id : []))
  const versions = await tables.datasets.known(idsOf('version'))
  const artifacts = await tables.artifacts.known(idsOf('artifact'))
  const batches = await tables.inferenceBatches.listKeys(idsOf('batch'))
  const batchOf = new Map(batches.map((batch) => [batch.id, batch]))
  const jobs = await tables.trainingJobs.dataKeys(owned.flatMap(({ owner }) => ('jobId' in owner ? owner.jobId : [])))
  const models = await tables.models.known(owned.flatMap(({ owner }) => (owner.kind === 'model' ? owner.name : [])))

  return owned.filter(({ key, owner }) => !isNamed(key, owner))

  function isNamed(key: string, owner: KeyOwner): boolean {
    switch (owner.kind) {
      case 'version':
        return versions.has(owner.id)
      case 'artifact':
        return artifacts.has(owner.id)
      case 'data':
        return jobs.get(owner.jobId)?.includes(key) ?? false
      case 'job':
        return jobs.has(owner.jobId)
      case 'model':
        return models.has(owner.name)
      case 'batch': {
        const batch = batchOf.get(owner.id)
        return batch !== undefined && (batch.state === 'running' || [batch.promptsKey, batch.resultKey].includes(key))
      }
    }
  }
}
