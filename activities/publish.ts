// Publishes an artifact as a model: copies it to keys that no issued URL can write, and verifies the copies.
import { tunedModelName } from '../src/domain/identifiers.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import {
  servedFilesOf,
  type Artifact,
  type ArtifactFile,
  type TrainingJob,
  type TunedModel,
} from '../src/domain/training-job.ts'
import { verifyFiles } from './artifact-files.ts'
import { boundedTries } from './bounded-tries.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'

/** The model that an artifact becomes. */
export function modelOf(
  { id: jobId, accountId, baseModel }: TrainingJob,
  artifact: Artifact,
  name = tunedModelName(jobId, publishedFiles(artifact)),
): Omit<TunedModel, 'createdAt'> {
  const served = publishedFiles(artifact)
  const files = served.map((file) => ({ ...file, key: storageKeys.model(accountId, name, file.name) }))
  return { name, accountId, jobId, artifactId: artifact.id, baseModel, files }
}

const weights = 'adapter_model.safetensors'
const bestWeights = 'best_adapter_model.safetensors'

/**
 * The files that serving needs, under their names in the model. A checkpoint holds the weights of the best step as well, where
 * the job keeps that one: these are served then.
 */
function publishedFiles({ files }: Artifact): ArtifactFile[] {
  const best = files.find(({ name }) => name === bestWeights)
  return servedFilesOf(files).map((file) => (best && file.name === weights ? { ...best, name: weights } : file))
}

type Published =
  { modelName: string; artifactId: string } | { modelName: null; message: string; hasCheckpoint: boolean }

export function createPublishActivities({ database, storage }: Pick<FineTuneDependencies, 'database' | 'storage'>) {
  return {
    /** Publishes the saved model or else the newest checkpoint; `finishJob` names it. @returns a null name when its bytes do not match the manifest */
    publishModel: ({ jobId }: { jobId: number; generation: number }): Promise<Published> =>
      boundedTries({ id: `job-${jobId}`, what: 'The verification of the model', type: 'NotUnderstood' }, () =>
        publish(jobId),
      ),
  }

  async function publish(jobId: number): Promise<Published> {
    const artifact = (await database.artifacts.newestModel(jobId)) ?? (await newestCheckpoint(jobId))
    if (!artifact)
      return { modelName: null, message: 'There is no saved model and no checkpoint.', hasCheckpoint: false }
    const job = await database.trainingJobs.get(jobId)
    const { name, files } = modelOf(job, artifact, await freeName(job, artifact))
    const keyOf = new Map(publishedFiles(artifact).map((file) => [file.name, file.key]))
    // Tags the copies with the job id: no row links them to the job yet.
    for (const file of files) await storage.copy(keyOf.get(file.name) ?? '', file.key, { job: String(jobId) })
    // Hashes the copies, because upload URLs may still overwrite the originals.
    if (files.length === 0 || !(await verifyFiles(storage, files))) return refuse(artifact)
    await database.artifacts.markVerified(artifact.id)
    return { modelName: name, artifactId: artifact.id }
  }

  /** An imported model keeps its name, which may be that of the same bytes from a job with the same id here. */
  async function freeName({ id: jobId }: TrainingJob, artifact: Artifact): Promise<string> {
    const served = publishedFiles(artifact)
    const name = tunedModelName(jobId, served)
    const owner = await database.models.jobOf(name)
    if (owner === null || owner === jobId) return name
    return tunedModelName(jobId, [...served, { name: 'artifact', sha256: artifact.id }])
  }

  async function newestCheckpoint(jobId: number): Promise<Artifact | null> {
    const [newest] = await database.artifacts.listUsable(jobId, 'checkpoint', 1)
    return newest ?? null
  }

  async function refuse({ id, jobId, kind }: Artifact): Promise<Published> {
    await database.artifacts.markCorrupt(id)
    const message = `The bytes of the saved ${kind} do not match its manifest.`
    return { modelName: null, message, hasCheckpoint: (await newestCheckpoint(jobId)) !== null }
  }
}
