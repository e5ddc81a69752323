// What a program that merges a model asks for: its work, upload places, and the commit of the uploaded files.
import type { ExportedFile, ModelExport } from '../../domain/model-export.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { storageFull } from '../../domain/storage-full.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { PodCtx } from '../context.ts'
import { fileLinks, requireSupportedRuntime } from './claim.ts'
import { requireUploaded, uploadPlaces, type UploadPlace } from './uploads.ts'

/** Returns what to merge, with fresh URLs each time. @throws ServiceError attempt_fenced, invalid_token, unsupported_runtime */
export async function claimExport({ pod, input }: { pod: PodCtx; input: { runtimeVersion: string } }) {
  requireSupportedRuntime(input.runtimeVersion)
  const { id, modelName, request } = await fencedWrite(pod, (_tx, held) => Promise.resolve(held))
  const { name, source, sha256 } = request.baseModel
  return {
    export_id: id,
    model_name: modelName,
    base_model: { name, source, sha256: sha256 ?? null },
    adapter: await fileLinks(pod, request.adapter),
  }
}

/**
 * Names the merged files and returns where to upload them. Their bytes count as stored from now on.
 * @throws ServiceError attempt_fenced, invalid_token, conflict when the account has no room for them
 */
export async function announceExportFiles({
  pod,
  input: { files },
}: {
  pod: PodCtx
  input: { files: readonly ExportedFile[] }
}): Promise<UploadPlace[]> {
  const { maxStoredBytes } = pod.deps.settings
  const held = await fencedWrite(pod, async (tx, held) => {
    await tx.accounts.hold(held.accountId)
    await tx.modelExports.announce(held.id, files)
    // A rollback takes the bytes back.
    if ((await tx.accounts.storedBytes(held.accountId)) > maxStoredBytes)
      throw new ServiceError('conflict', storageFull(maxStoredBytes))
    return held
  })
  return uploadPlaces(pod.deps.storage, uploadedFiles({ ...held, files }))
}

/** A repeat does nothing. @throws ServiceError attempt_fenced, invalid_token, artifact_incomplete */
export async function commitExport({ pod }: { pod: PodCtx }): Promise<void> {
  const held = await fencedWrite(pod, (_tx, held) => Promise.resolve(held))
  if (held.committedAt) return
  if (held.files.length === 0) throw new ServiceError('artifact_incomplete', 'No file was announced for this export.')
  await requireUploaded(pod.deps.storage, uploadedFiles(held))
  // The program may have been replaced while the store was read.
  await fencedWrite(pod, (tx, { id }) => tx.modelExports.commit(id))
}

/** Keeps the program's reason for exiting. @throws ServiceError attempt_fenced, invalid_token */
export const recordExportFailure = ({ pod, input }: { pod: PodCtx; input: { message: string } }): Promise<void> =>
  fencedWrite(pod, (tx, { id }) => tx.modelExports.noteFailure(id, input.message))

const uploadedFiles = ({ accountId, id, runNumber, files }: ModelExport) =>
  files.map((file) => ({ ...file, key: storageKeys.exportUpload(accountId, id, runNumber, file.name) }))

async function fencedWrite<T>(
  { deps, tokenHash }: PodCtx,
  write: (tx: Repositories, held: ModelExport) => Promise<T>,
): Promise<T> {
  return deps.database.transaction(async (tx) => {
    const held = await tx.modelExports.holdByToken(tokenHash)
    if (!held) throw new ServiceError('invalid_token', 'invalid token')
    if (!held.runIsOpen) throw new ServiceError('attempt_fenced', 'This program was released.')
    return write(tx, held)
  })
}
