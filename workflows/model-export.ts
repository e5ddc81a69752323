// One merged export: a program merges the model, then a worker verifies and keeps its files. A program that is interrupted is
// started again.
import { ApplicationFailure, CancellationScope, CancelledFailure, proxyActivities, sleep } from '@temporalio/workflow'
import type { ModelExportActivities } from '../activities/model-exports.ts'
import { untilAWeek, untilDone } from './activity-limits.ts'
import { exportTaskQueue, type ModelExportInput } from './contract.ts'
import { ownersMessage } from './retry-unavailable.ts'
import { wasCancelled } from './was-cancelled.ts'

const firstBackOffMs = 1000
const maxBackOffMs = 60_000

const { runMerge } = proxyActivities<ModelExportActivities>({ ...untilAWeek, taskQueue: exportTaskQueue })
const { keepMergedFiles } = proxyActivities<ModelExportActivities>(untilAWeek)
const { failExport } = proxyActivities<ModelExportActivities>(untilDone)

export async function modelExport({ exportId }: ModelExportInput): Promise<void> {
  try {
    await CancellationScope.cancellable(() => merge(exportId))
  } catch (error) {
    const isCancel = wasCancelled(CancellationScope.current(), error)
    const message = isCancel ? 'An operator cancelled the export.' : messageOf(error)
    await CancellationScope.nonCancellable(() => failExport({ exportId, message }))
    throw isCancel ? new CancelledFailure(message) : ApplicationFailure.nonRetryable(message, 'ExportFailed')
  }
}

async function merge(exportId: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const outcome = await runMerge({ exportId })
    if (outcome === 'merged' && (await keepMergedFiles({ exportId }))) return
    await sleep(Math.min(firstBackOffMs * 2 ** tries, maxBackOffMs))
  }
}

const messageOf = (error: unknown) =>
  ownersMessage(error) ?? 'An unexpected error ended the export. Its workflow in Temporal has the details.'
