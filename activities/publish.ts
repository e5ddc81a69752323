// From an artifact to a model: copied to keys that no issued URL can write, verified there, then named.
import { tunedModelName } from '../src/domain/identifiers.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Artifact } from '../src/domain/training-job.ts'
import { verifyFiles } from './artifact-files.ts'
import type { FineTuneDependencies } from './fine-tune.ts'
import { withHeartbeat } from './heartbeat.ts'

/** What serving needs; a checkpoint holds the optimizer's state as well. */
const servedFiles = ['adapter_model.safetensors', 'adapter_config.json', 'anneal.json']

export function createPublishActivities({ database, storage }: Pick<FineTuneDependencies, 'database' | 'storage'>) {
  return {
    /** The saved model of this generation or, where there is none, the newest checkpoint. @returns a null name when its bytes are not right */
    publishModel: ({
      jobId,
      generation,
    }: {
      jobId: number
      generation: number
    }): Promise<{ modelName: string | null; message: string }> =>
      withHeartbeat(async () => {
        const artifact = (await database.artifacts.newestModel(jobId, generation)) ?? (await newestCheckpoint(jobId))
        if (!artifact) return { modelName: null, message: 'There is no saved model and no checkpoint.' }
        const { accountId, baseModel } = await database.trainingJobs.get(jobId)
        const served = artifact.files.filter(({ name }) => servedFiles.includes(name))
        const name = tunedModelName(jobId, served)
        const files = served.map((file) => ({ ...file, key: storageKeys.model(accountId, name, file.name) }))
        for (const [index, { key }] of served.entries()) await storage.copy(key, files[index]?.key ?? '')
        // The copies are hashed, not the originals: those could still be overwritten by their URLs.
        if (served.length === 0 || !(await verifyFiles(storage, files))) return refuse(artifact)
        await database.transaction(async (tx) => {
          await tx.artifacts.markVerified(artifact.id)
          await tx.models.publish({ name, accountId, jobId, artifactId: artifact.id, baseModel, files })
        })
        return { modelName: name, message: '' }
      }),
  }

  async function newestCheckpoint(jobId: number): Promise<Artifact | null> {
    const [newest] = await database.artifacts.listUsable(jobId, 'checkpoint', 1)
    return newest ?? null
  }

  async function refuse(artifact: Artifact) {
    await database.artifacts.markCorrupt(artifact.id)
    return { modelName: null, message: `The bytes of the saved ${artifact.kind} do not match its manifest.` }
  }
}
