// Runs in a thread: validates data sets. Reads and writes the object store itself, so that no row passes the main event loop.
import { parentPort, workerData } from 'node:worker_threads'
import type { NamedReport } from '../domain/data-sources.ts'
import type { DatasetReport, RowPreview } from '../domain/dataset-report.ts'
import type { DataFile } from '../domain/training-job.ts'
import type { PreparedRows } from '../domain/row-tokens.ts'
import { isBug } from '../domain/outage.ts'
import { createStorage, type StorageConfig } from '../storage/storage.ts'
import type { DatasetLimits } from './dataset-limits.ts'
import { joinParts, type JoinedParts, type PartsToJoin } from './join-parts.ts'
import { mapColumns, type Mapping } from './map-columns.ts'
import { validateDataset, type CheckWanted } from './validate-dataset.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { previewRows, type Preview } from './preview-rows.ts'
import { prepareData, type CheckedData, type DataOfJob } from './prepare-data.ts'
import { prepareLines, type LinesWanted } from './prepared-lines.ts'
import { readRolloutPage, type PageWanted, type RolloutPage } from './rollout-page.ts'
import { sampleRows, type Sample, type SampledRows } from './sample-rows.ts'
import type { Tokenizers } from './token-sample.ts'

export type DatasetSettings = { config: StorageConfig; tokenizers: Tokenizers; limits: DatasetLimits }

export type DatasetTask =
  | ({ kind: 'prepare' } & DataOfJob)
  | ({ kind: 'check' } & CheckWanted)
  | ({ kind: 'sample' } & Sample)
  | ({ kind: 'map' } & Mapping)
  | ({ kind: 'join' } & PartsToJoin)
  | ({ kind: 'lines' } & LinesWanted)
  | ({ kind: 'rollouts' } & PageWanted)
  | PreviewTask

export type PreviewTask = { kind: 'preview'; key: string } & Preview

export type TaskAnswer =
  | {
      result:
        | CheckedData
        | DatasetReport
        | RowPreview
        | SampledRows
        | DataFile
        | JoinedParts
        | PreparedRows
        | RolloutPage
        | null
    }
  | { invalid: { message: string; report: NamedReport | undefined } }
  | { error: string; isBug: boolean }

const { config, ...settings } = workerData as DatasetSettings
const storage = createStorage(config)
parentPort?.on('message', (task: DatasetTask) => {
  void answer(task).then((text) => parentPort?.postMessage(text))
})

async function answer(task: DatasetTask): Promise<TaskAnswer> {
  try {
    return { result: await perform(task) }
  } catch (error) {
    if (error instanceof DatasetInvalidError) return { invalid: { message: error.message, report: error.report } }
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error), isBug: isBug(error) }
  }
}

function perform(task: DatasetTask) {
  switch (task.kind) {
    case 'prepare':
      return prepareData(storage, task, settings)
    case 'check':
      return validateDataset(storage, task, settings)
    case 'sample':
      return sampleRows(storage, task, settings)
    case 'map':
      return mapColumns(storage, task, settings)
    case 'join':
      return joinParts(storage, task)
    case 'lines':
      return prepareLines(storage, task)
    case 'rollouts':
      return readRolloutPage(storage, task)
    case 'preview':
      return previewRows(storage, task, settings)
  }
}
