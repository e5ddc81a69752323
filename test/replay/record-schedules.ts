// As record.ts, for the workflows that schedules start:
//   ANNEAL_TEST_HOME=DIR node test/replay/record-schedules.ts
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import { dailyRetentionScheduleId, reaperScheduleId, retentionScheduleId } from '../../workflows/contract.ts'
import { sampleRows } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'
import { client, close, saveHistory } from './save-history.ts'
import { eventually } from '../support/eventually.ts'

const api = await openAccount()

/** The newest that the schedule started and that ended as wanted. */
async function newestOf(scheduleId: string, isWanted: (result: Record<string, number | null>) => boolean) {
  const query = `TemporalScheduledById = '${scheduleId}' AND ExecutionStatus = 'Completed'`
  for await (const { workflowId } of client.workflow.list({ query }))
    if (isWanted((await client.workflow.getHandle(workflowId).result()) as Record<string, number | null>))
      return workflowId
  return null
}

const lost = await api.train({ data: sampleRows, finetune_args: { max_steps: 500, save_steps: 10 } })
await api.until(lost, ({ history }) => history.includes('"step":10'))
await client.workflow.getHandle(fineTuneWorkflowId(lost)).terminate('recorded')
await api.until(lost, ({ status }) => status === 'FAILED')
await saveHistory('reaper', await eventually(() => newestOf(reaperScheduleId, ({ jobs }) => jobs === 1)))

for (const [name, scheduleId] of [
  ['retention', retentionScheduleId],
  ['retention-daily', dailyRetentionScheduleId],
] as const) {
  await client.schedule.getHandle(scheduleId).trigger()
  await saveHistory(name, await eventually(() => newestOf(scheduleId, () => true)))
}

if (import.meta.main) await close()
