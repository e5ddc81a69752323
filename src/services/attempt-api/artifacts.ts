// Checkpoints and saved models. A pod uploads the files by URL, then commits their manifest; only then they count.
import { randomUUID } from 'node:crypto'
import { ServiceError } from '../../domain/service-error.ts'
import type { Artifact, ArtifactKind } from '../../domain/training-job.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'
import { removeOldPolicies } from './policies.ts'
import { rolloutFiles, rolloutSplits } from '../../domain/rollouts.ts'
import type { Repositories } from '../../repositories/database.ts'
import { requireUploaded, uploadPlaces, type UploadPlace } from './uploads.ts'

type NewArtifact = {
  kind: ArtifactKind
  step: number
  files: { name: string; sizeBytes: number; sha256: string }[]
}

/** Creates an artifact and returns where to upload its files. @throws ServiceError attempt_fenced */
export async function createArtifact({
  pod,
  input: { kind, step, files },
}: {
  pod: PodCtx
  input: NewArtifact
}): Promise<{ artifactId: string; uploads: UploadPlace[] }> {
  const id = randomUUID()
  const keyed = await fencedWrite(pod, async (tx, { jobId, number }) => {
    const keyed = files.map((file) => ({ ...file, key: storageKeys.artifact(jobId, id, file.name) }))
    const { specHash } = await tx.trainingJobs.get(jobId)
    await tx.artifacts.create({ id, jobId, attempt: number, kind, step, specHash, files: keyed })
    return keyed
  })
  return { artifactId: id, uploads: await uploadPlaces(pod.deps.storage, keyed) }
}

/**
 * Commits the manifest once every object has its declared size. A worker verifies the hashes later.
 * @throws ServiceError attempt_fenced, not_found, artifact_incomplete
 */
export async function commitArtifact({
  pod,
  input: { artifactId },
}: {
  pod: PodCtx
  input: { artifactId: string }
}): Promise<void> {
  const artifact = await fencedWrite(pod, (tx, { jobId }) => tx.artifacts.find(jobId, artifactId))
  if (!artifact) throw new ServiceError('not_found', `There is no artifact ${artifactId}.`)
  if (artifact.committedAt) return
  await requireUploaded(pod.deps.storage, artifact.files)
  if (artifact.kind === 'policy') await dropDamagedPolicy(pod, artifact)
  // The attempt may have been fenced while the store was read.
  await fencedWrite(pod, async (tx, { jobId, number, savedStep }) => {
    if (artifact.kind === 'rollouts') return commitRollouts(tx, artifact)
    if (artifact.kind === 'policy') return commitPolicy(tx, artifact)
    if (!(await tx.artifacts.commit(artifactId))) return
    const { step, createdAt: savedAt } = artifact
    if (step > (savedStep ?? -1)) await tx.attempts.update({ jobId, number }, { savedStep: step, savedAt })
    await tx.jobEvents.add(jobId, {
      kind: 'attempt',
      attempt: number,
      reason: `${artifact.kind}_committed`,
      message: `${artifact.kind === 'model' ? 'Model' : 'Checkpoint'} of step ${artifact.step} committed.`,
      actor: `attempt:${number}`,
    })
  })
  if (artifact.kind !== 'checkpoint') await removeOldPolicies(pod.deps, artifact.jobId)
}

/**
 * A policy whose bytes have changed in the store is loaded by no server, so the one that a later attempt has uploaded takes its
 * place. Its name then stands for no other weights: nobody holds the damaged ones.
 */
async function dropDamagedPolicy({ deps: { database, storage } }: PodCtx, { jobId, step }: Artifact) {
  const first = await database.artifacts.policyOf(jobId, step)
  for (const { key, sha256 } of first?.files ?? [])
    if ((await storage.sha256(key))?.sha256 !== sha256) return database.artifacts.markCorrupt(first?.id ?? '')
}

/** The first policy of a step stays, because its name never stands for other weights. */
async function commitPolicy(tx: Repositories, { id, jobId, step }: Artifact) {
  if (!(await tx.artifacts.policyOf(jobId, step))) await tx.artifacts.commit(id)
}

/** The first rollouts of a step stay. Once its rewards are committed, nobody asks for its grades again. */
async function commitRollouts(tx: Repositories, { id, jobId, step, files }: Artifact) {
  const name = files[0]?.name ?? ''
  if (await tx.artifacts.hasRollouts({ jobId, step, name })) return
  await tx.artifacts.commit(id)
  for (const split of rolloutSplits)
    if (name === rolloutFiles[split].rewards) await tx.grades.deleteStep({ jobId, split, step })
}
