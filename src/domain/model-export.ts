// Merged exports: accepted by a request, merged by a program, kept by a worker once it has verified the files.
import type { CatalogueEntry } from './catalogue.ts'
import type { ArtifactFile } from './training-job.ts'

/** `adapter`: the LoRA weights alone. `merged`: a whole model. */
export type ExportFormat = 'adapter' | 'merged'

export const exportStatuses = ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'] as const
/** QUEUED: no program was started yet. */
export type ExportStatus = (typeof exportStatuses)[number]

export const isOpenExport = (status: ExportStatus) => status === 'QUEUED' || status === 'RUNNING'

export type ExportedFile = Pick<ArtifactFile, 'name' | 'sizeBytes' | 'sha256'>

export type MergeRequest = {
  baseModel: Pick<CatalogueEntry, 'name' | 'source' | 'sha256' | 'resources'>
  adapter: readonly ArtifactFile[]
}

export type ModelExport = {
  id: string
  accountId: string
  modelName: string
  request: MergeRequest
  status: ExportStatus
  /** Tells the owner why it failed; null otherwise. */
  message: string | null
  /** Counts the programs that were started for it. */
  runNumber: number
  runIsOpen: boolean
  failure: string | null
  files: readonly ExportedFile[]
  committedAt: Date | null
  /** When its turn came; null while it waits. */
  grantedAt: Date | null
  finishedAt: Date | null
}

export const exportWorkflowPrefix = 'export-'
/** A DNS label that is never used twice. */
export const exportRunName = (exportId: string, run: number) => `export-${exportId.replaceAll('-', '')}-r${run}`
