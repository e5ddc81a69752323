// Objects that no row names: a process wrote them and died, or a URL outlived its row.
import { allFolders, ownerOfKey, type KeyOwner } from '../src/domain/storage-keys.ts'
import type { Database, Repositories } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { assertFewOrphans, assertSameInstallation, type Survey } from './sweep-guard.ts'

type Stores = { database: Database; storage: Storage }
type OwnedKey = { key: string; owner: KeyOwner }
/** `jobId`: the job that may still name the object; null where no job may. */
type Orphan = { key: string; jobId: number | null }

type Options = {
  /** Younger objects stay: a request may still name them, and a newer backup may know them. */
  olderThanMs: number
  /** The share of all objects that may go at once. */
  maxShare: number
  signal?: AbortSignal
}

/**
 * Lists the whole store twice, a page in memory at a time: nothing is removed before all orphans are counted.
 * @returns the number of removed objects
 * @throws SweepRefused when this may not be the bucket's database
 */
export async function removeOrphanedObjects(stores: Stores, options: Options): Promise<number> {
  const survey = await surveyObjects(stores, options)
  await assertSameInstallation(stores, survey)
  assertFewOrphans(survey, options.maxShare)
  return survey.orphans === 0 ? 0 : sweep(stores, options)
}

async function surveyObjects(stores: Stores, { olderThanMs, signal }: Options): Promise<Survey> {
  const survey = { objects: 0, named: 0, orphans: 0 }
  for await (const page of pages(stores.storage, signal)) {
    const old = new Set(page.filter(({ ageMs }) => ageMs >= olderThanMs).map(({ key }) => key))
    const keys = page.map(({ key }) => key)
    const unnamed = await unnamedKeys(stores.database, keys)
    const { ofJobs, ofNobody } = await orphansAmong(
      stores,
      unnamed.filter(({ key }) => old.has(key)),
    )
    survey.objects += keys.length
    survey.named += keys.filter(hasUniqueOwner).length - unnamed.filter(({ key }) => hasUniqueOwner(key)).length
    survey.orphans += ofJobs.length + ofNobody.length
  }
  return survey
}

/** Job numbers are the same in every database, other ids are not. */
function hasUniqueOwner(key: string): boolean {
  const owner = ownerOfKey(key)
  return owner !== null && owner.kind !== 'job'
}

async function sweep(stores: Stores, { olderThanMs, signal }: Options): Promise<number> {
  let count = 0
  for await (const page of pages(stores.storage, signal)) {
    const old = page.filter(({ ageMs }) => ageMs >= olderThanMs).map(({ key }) => key)
    const { ofJobs, ofNobody } = await orphansAmong(stores, await unnamedKeys(stores.database, old))
    await stores.storage.remove(ofNobody.map(({ key }) => key))
    count += ofNobody.length + (await removeOfEndedJobs(stores, ofJobs))
  }
  return count
}

async function* pages(storage: Storage, signal: AbortSignal | undefined) {
  for (const folder of allFolders)
    for await (const page of storage.pages(folder)) {
      signal?.throwIfAborted()
      yield page
    }
}

/** `ofJobs`: a job that exists may still name these. */
async function orphansAmong({ database, storage }: Stores, unnamed: readonly OwnedKey[]) {
  const orphans: Orphan[] = []
  for (const each of unnamed) orphans.push(...(await withJob(storage, each)))
  const jobs = await database.trainingJobs.dataKeys(orphans.flatMap(({ jobId }) => jobId ?? []))
  const ofJobs = orphans.filter(({ jobId }) => jobId !== null && jobs.has(jobId))
  return { ofJobs, ofNobody: orphans.filter((each) => !ofJobs.includes(each)) }
}

/** Empty for a copy of a model without the id of its job: the copy stays. */
async function withJob(storage: Storage, { key, owner }: OwnedKey): Promise<Orphan[]> {
  if (owner.kind === 'data') return [{ key, jobId: owner.jobId }]
  if (owner.kind !== 'model') return [{ key, jobId: null }]
  const { job } = await storage.metadata(key)
  return job === undefined ? [] : [{ key, jobId: Number(job) }]
}

/** Only an open job can still name what was written for it. */
async function removeOfEndedJobs({ database, storage }: Stores, orphans: readonly Orphan[]): Promise<number> {
  if (orphans.length === 0) return 0
  return database.transaction(async (tx) => {
    // The lock keeps ended jobs from being resumed: a resumed job may write under the same keys.
    const ended = await tx.trainingJobs.holdEnded(orphans.flatMap(({ jobId }) => jobId ?? []))
    const keys = orphans.filter(({ jobId }) => ended.has(jobId ?? 0)).map(({ key }) => key)
    const unnamed = await unnamedKeys(tx, keys)
    await storage.remove(unnamed.map(({ key }) => key))
    return unnamed.length
  })
}

/** Leaves out keys that are not ours, and every key of a running batch, evaluation or export, which may still name them. */
async function unnamedKeys(tables: Repositories, keys: readonly string[]): Promise<OwnedKey[]> {
  const owned = keys.flatMap((key) => {
    const owner = ownerOfKey(key)
    return owner ? [{ key, owner }] : []
  })
  const idsOf = (kind: 'version' | 'artifact' | 'batch' | 'evaluation' | 'export') =>
    owned.flatMap(({ owner }) => (owner.kind === kind ? owner.id : []))
  const versions = await tables.datasets.known(idsOf('version'))
  const artifacts = await tables.artifacts.known(idsOf('artifact'))
  const batches = await tables.inferenceBatches.listKeys(idsOf('batch'))
  const batchOf = new Map(batches.map((batch) => [batch.id, batch]))
  const evaluations = await tables.modelEvaluations.listKeys(idsOf('evaluation'))
  const evaluationOf = new Map(evaluations.map((evaluation) => [evaluation.id, evaluation]))
  const exports = await tables.modelExports.listKnown(idsOf('export'))
  const exportOf = new Map(exports.map((each) => [each.id, each]))
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
      case 'evaluation': {
        const evaluation = evaluationOf.get(owner.id)
        return evaluation !== undefined && (evaluation.finishedAt === null || evaluation.rowsKey === key)
      }
      case 'export': {
        const found = exportOf.get(owner.id)
        return found !== undefined && (found.isOpen || found.fileNames.some((name) => key.endsWith(`/files/${name}`)))
      }
    }
  }
}
