// One merged export: a program merges the model, then a worker verifies and keeps its files. A program that is interrupted is
// started again.
import { proxyActivities, sleep } from '@temporalio/workflow'
import type { ModelExportActivities } from '../activities/model-exports.ts'
import { untilAWeek, untilDone } from './activity-limits.ts'
import { exportTaskQueue, type ModelExportInput } from './contract.ts'
import { liveAsWork } from './durable-work.ts'

const firstBackOffMs = 1000
const maxBackOffMs = 60_000

const { runMerge } = proxyActivities<ModelExportActivities>({ ...untilAWeek, taskQueue: exportTaskQueue })
const { keepMergedFiles } = proxyActivities<ModelExportActivities>(untilAWeek)
const { failExport } = proxyActivities<ModelExportActivities>(untilDone)

export const modelExport = ({ exportId }: ModelExportInput): Promise<void> =>
  liveAsWork({
    what: 'export',
    failureType: 'ExportFailed',
    cancelled: 'An operator cancelled the export.',
    run: () => merge(exportId),
    end: ({ message }) => failExport({ exportId, message }),
  })

async function merge(exportId: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const outcome = await runMerge({ exportId })
    if (outcome === 'merged' && (await keepMergedFiles({ exportId }))) return
    await sleep(Math.min(firstBackOffMs * 2 ** tries, maxBackOffMs))
  }
}
