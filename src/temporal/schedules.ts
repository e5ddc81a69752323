// Schedules in Temporal; the first worker that starts creates them.
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleOptions } from '@temporalio/client'
import { dailyRetentionScheduleId, reaperScheduleId, retentionScheduleId, taskQueue } from '../../workflows/contract.ts'

/** Creates the schedules, or updates them to what is written here. */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const schedule of schedules) await ensure(client, schedule)
}

type Duration = NonNullable<ScheduleOptions['action']['workflowExecutionTimeout']>

const schedule = (
  scheduleId: string,
  workflowType: string,
  every: '20 seconds' | '1 hour' | '1 day',
  { workflowExecutionTimeout, catchupWindow }: { workflowExecutionTimeout: Duration; catchupWindow: Duration },
) =>
  ({
    scheduleId,
    spec: { intervals: [{ every }] },
    action: {
      type: 'startWorkflow',
      workflowType,
      workflowId: scheduleId,
      taskQueue,
      args: [],
      workflowExecutionTimeout,
    },
    // A round that outlasts its period is followed by the next at once.
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow },
  }) satisfies ScheduleOptions

const schedules = [
  // With the default grace of 30 s, a lost resource is gone within a minute, even if its program ignores SIGTERM.
  schedule(reaperScheduleId, 'reaper', '20 seconds', {
    workflowExecutionTimeout: '5 minutes',
    catchupWindow: '20 seconds',
  }),
  // A stack that is started for minutes at a time still has its round.
  schedule(retentionScheduleId, 'retention', '1 hour', {
    workflowExecutionTimeout: '1 hour',
    catchupWindow: '1 hour',
  }),
  // A stack that is down at midnight catches up when it starts.
  schedule(dailyRetentionScheduleId, 'dailyRetention', '1 day', {
    workflowExecutionTimeout: '12 hours',
    catchupWindow: '1 day',
  }),
]

async function ensure(client: Client, options: (typeof schedules)[number]) {
  try {
    await client.schedule.create(options)
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
    const { spec, action, policies } = options
    await client.schedule.getHandle(options.scheduleId).update(({ state }) => ({ spec, action, policies, state }))
  }
}
