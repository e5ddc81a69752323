// As record.ts, for the workflows that stay open:
//   ANNEAL_TEST_HOME=DIR node test/replay/record-housekeeping.ts
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import {
  dailyRetentionWorkflowId,
  reaperWorkflowId,
  retentionWorkflowId,
  runNowSignal,
  setPausedSignal,
} from '../../workflows/contract.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'
import { client, close } from './save-history.ts'
import { writeHistory } from './write-history.ts'

const api = await openAccount()

/** Once the newest round is one that is wanted. */
async function saveRounds(name: string, workflowId: string, wanted: RegExp) {
  const handle = client.workflow.getHandle(workflowId)
  await eventually(async () => {
    const { currentDetails } = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')
    return wanted.test(currentDetails ?? '')
  })
  writeHistory(name, await handle.fetchHistory())
}

const lost = await api.train({ data: sampleRows, finetune_args: { max_steps: 500, save_steps: 10 } })
await api.until(lost, ({ history }) => history.includes('"step":10'))
await client.workflow.getHandle(fineTuneWorkflowId(lost)).terminate('recorded')
await saveRounds('reaper', reaperWorkflowId, /jobs: 1/)

await client.workflow.getHandle(retentionWorkflowId).signal(setPausedSignal, true)
for (const [name, workflowId] of [
  ['retention', retentionWorkflowId],
  ['retention-daily', dailyRetentionWorkflowId],
] as const) {
  await client.workflow.getHandle(workflowId).signal(runNowSignal)
  await saveRounds(name, workflowId, /last round/)
}
await client.workflow.getHandle(retentionWorkflowId).signal(setPausedSignal, false)

if (import.meta.main) await close()
