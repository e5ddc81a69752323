// What happens by the clock: schedules in Temporal, made by whichever worker comes first.
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleOptions } from '@temporalio/client'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import { housekeepingScheduleId, reaperScheduleId, taskQueue } from '../../workflows/contract.ts'

const retryMs = 5000

/** Until Temporal has them as they are here, or the signal aborts. */
export async function ensureSchedules({ client, log, signal }: { client: Client; log: Log; signal: AbortSignal }) {
  while (!signal.aborted) {
    try {
      for (const schedule of schedules) await ensure(client, schedule)
      return
    } catch (error) {
      log.warn({ err: error }, 'the schedules cannot be made now')
      await sleep(retryMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

const schedule = (
  scheduleId: string,
  workflowType: string,
  every: '20 seconds' | '1 hour',
  workflowExecutionTimeout: '5 minutes' | '1 hour',
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
    // What takes longer than its period is followed at once, not with the beat after.
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '20 seconds' },
  }) satisfies ScheduleOptions

const schedules = [
  // With the default grace of 30 s, what is lost is gone within a minute even where its program does not hear SIGTERM.
  schedule(reaperScheduleId, 'reaper', '20 seconds', '5 minutes'),
  schedule(housekeepingScheduleId, 'housekeeping', '1 hour', '1 hour'),
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
