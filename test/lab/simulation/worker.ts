// A worker process of a schedule: activities, workflow tasks and loops. All code of the product here is real.
import { defaultFailureConverter, defaultPayloadConverter, noopMetricMeter } from '@temporalio/common'
import { Activity } from '@temporalio/worker/lib/activity.js'
import { createFineTuneActivities } from '../../../activities/fine-tune.ts'
import type { FineTuneDependencies } from '../../../activities/fine-tune-dependencies.ts'
import { createReaperActivities } from '../../../activities/reaper.ts'
import type { Notifications } from '../../../src/repositories/notifications.ts'
import type { Log } from '../../../src/log.ts'
import { createDeliver } from '../../../src/temporal/deliver-message.ts'
import { outboxRelay } from '../../../src/loops/outbox-relay.ts'
import { runLoop } from '../../../src/loops/run-loop.ts'
import { slotScheduler } from '../../../src/loops/slot-scheduler.ts'
import { createWorkflowExecutions } from '../../../src/temporal/workflow-executions.ts'
import { Unreachable, type Faults } from './faults.ts'
import { fail, inProc, kernel, noteFatal, Proc } from './kernel.ts'
import type { ActivityResult, ScheduledActivity } from './temporal/activities.ts'
import { createTemporalClient } from './temporal/client.ts'
import type { LiveWorkflow, Sandbox, Task } from './temporal/sandbox.ts'
import type { Run, TemporalServer } from './temporal/server.ts'

/** The SDK's `maxHeartbeatThrottleInterval`. */
const heartbeatEveryMs = 3000

export const quiet = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
} as unknown as Log
const logger = { ...quiet, trace: () => undefined, log: () => undefined }

function lostReply(error: unknown): false {
  if (error instanceof Unreachable) return false
  throw error
}

/** The dependencies of a worker's activities, and the notifications that wake its loops. */
export type WorkerDependencies = FineTuneDependencies & { notifications: Notifications }

export type Worker = ReturnType<typeof startWorker>

const noModelServers = { list: async () => [], terminate: async () => undefined }

export function startWorker({
  server,
  faults,
  sandbox,
  deps,
}: {
  server: TemporalServer
  faults: Faults
  sandbox: Sandbox
  deps: WorkerDependencies
}) {
  const proc = new Proc('worker')
  const { signal } = new AbortController()
  const client = createTemporalClient(server, faults)
  const activities: Record<string, (input: never) => Promise<unknown>> = {
    ...createFineTuneActivities(deps),
    ...createReaperActivities({
      ...deps,
      modelServers: noModelServers,
      executions: createWorkflowExecutions(client),
      log: quiet,
      countReaped: () => undefined,
    }),
  }
  /** The workflows in memory, each with the number of tasks of its history that it has seen. */
  const cache = new Map<Run, { workflow: LiveWorkflow; taskCount: number }>()
  proc.onDeath(() => {
    for (const { workflow } of cache.values()) workflow.dispose()
  })

  const deliver = createDeliver({
    client,
    database: deps.database,
    modelServerInput: (baseModel) => ({ baseModel, idleTimeoutMs: 1000 }),
  })
  const loops = [
    outboxRelay({ ...deps, deliver, log: quiet }),
    slotScheduler({ ...deps, slots: () => deps.trainers.capacity().slots }),
  ]
  for (const loop of loops) void inProc(proc, loop.name, () => runLoop(loop, { log: quiet, signal }))

  /** Takes no virtual time: nothing else happens meanwhile. */
  async function decide(run: Run, work: Pick<Task, 'atMs' | 'jobs'>) {
    const here = kernel()
    here.busy++
    try {
      const cached = cache.get(run)
      // The workflow is ahead of the history until the server accepts this decision.
      cache.delete(run)
      if (cached && cached.taskCount !== run.history.length) cached.workflow.dispose()
      const live = cached?.taskCount === run.history.length ? cached.workflow : null
      const about = { type: run.type, workflowId: run.workflowId, runId: run.runId, startMs: run.startMs }
      const workflow = live ?? (await sandbox.open(about, run.history))
      return { workflow, done: await workflow.activate(work) }
    } catch (error) {
      return fail(error)
    } finally {
      here.busy--
    }
  }

  async function task(run: Run) {
    const before = run.history.length
    const work = { atMs: kernel().nowMs, jobs: [...run.pending] }
    const { workflow, done } = await decide(run, work)
    const counts = await faults
      .through('temporal', 'workflow task', () => server.taskDone(run, before, done))
      .catch(lostReply)
    if (!counts || run.status !== 'RUNNING') return workflow.dispose()
    cache.set(run, { workflow, taskCount: before + 1 })
  }

  async function execute(activity: ScheduledActivity, token: object) {
    let beatAtMs = -Infinity
    const heartbeat = () => {
      if (kernel().nowMs - beatAtMs < heartbeatEveryMs || faults.isDown('temporal')) return
      beatAtMs = kernel().nowMs
      kernel().after(kernel().between(1, 30), () => {
        const verdict = server.activities.heartbeat(activity, token)
        if (verdict === 'cancelled') running.cancel('CANCELLED', { cancelRequested: true } as never)
        if (verdict === 'not found') running.cancel('NOT_FOUND', { notFound: true } as never)
      })
    }
    const running = new Activity(
      {
        attempt: activity.attempt,
        activityId: String(activity.seq),
        activityType: activity.type,
        isLocal: false,
      } as never,
      activities[activity.type] as never,
      { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
      {} as never,
      undefined as never,
      heartbeat,
      undefined,
      logger as never,
      noopMetricMeter,
      [],
    )
    const result = (await running.run({ args: activity.args, headers: {} })) as Partial<ActivityResult>
    for (;;) {
      try {
        return await faults.through('temporal', 'report', () => server.activities.done(activity, token, result))
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        await kernel().sleep(1000)
      }
    }
  }

  return {
    proc,
    hasCached: (run: Run) => cache.has(run),
    runTask: (run: Run) => void inProc(proc, run.type, () => task(run)).catch(noteFatal),
    runActivity: (activity: ScheduledActivity, token: object) =>
      void inProc(proc, activity.type, () => execute(activity, token)).catch(noteFatal),
  }
}
