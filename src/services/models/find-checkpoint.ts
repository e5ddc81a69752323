import { tunedModelName } from '../../domain/identifiers.ts'
import { parseCheckpointName } from '../../domain/model-reference.ts'
import { servedFilesOf, type TunedModel } from '../../domain/training-job.ts'
import type { ModelCtx } from '../context.ts'

/**
 * Finds a usable checkpoint of the account by a name such as `ftjob-7:ckpt-step-60`, in the form of a tuned model. Its files
 * may lie where a trainer's URL can still write; the model server checks their hashes.
 * @returns null when there is none, or the text is no such name
 */
export async function findCheckpoint(
  { deps: { database }, accountId }: ModelCtx,
  name: string,
): Promise<TunedModel | null> {
  const asked = parseCheckpointName(name)
  const job = asked && (await database.trainingJobs.find(accountId, asked.jobId))
  const artifact = job && (await database.artifacts.checkpointOf(job.id, asked.step))
  if (!artifact) return null
  const files = servedFilesOf(artifact.files)
  const { baseModel, id: jobId, preparedData } = job
  const createdAt = artifact.committedAt ?? artifact.createdAt
  return {
    name: tunedModelName(jobId, files),
    accountId,
    jobId,
    artifactId: artifact.id,
    baseModel,
    files,
    createdAt,
    learned: preparedData?.learned ?? null,
  }
}
