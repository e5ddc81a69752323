// The reaper finds what outlived its job or its workflow, and releases it. The compute is listed first, then Postgres and
// Temporal are asked, because the list says nothing of later launches. An activity fails where one of them does not answer.
import { cancellationSignal } from '@temporalio/activity'
import type { ModelServerCompute } from '../src/compute/model-servers.ts'
import type { RunSummary } from '../src/compute/run.ts'
import { durableWork, workflowIdOf, workKinds, type Work, type WorkKind } from '../src/domain/durable-work.ts'
import { fineTuneWorkflowId, modelServerName } from '../src/domain/identifiers.ts'
import type { JobEnding } from '../src/domain/training-job.ts'
import type { Log } from '../src/log.ts'
import type { Repositories } from '../src/repositories/database.ts'
import type { WorkflowExecution, WorkflowExecutions } from '../src/temporal/workflow-executions.ts'
import { withHeartbeat } from './heartbeat.ts'
import { release, type ReleaseDependencies } from './release.ts'

type JobGeneration = { jobId: number; generation: number }
type Position = { jobId: number; number: number }
/** `attempt`: null for a model server, and for a merge, which `isMerge` marks. */
type StrayRun = { name: string; uid: string; attempt: Position | null; isMerge?: boolean }
type Reaped = 'attempt_run' | 'merge_run' | 'model_server_run' | 'model_server_workflow' | 'attempt' | 'job' | WorkKind

export type ReaperDependencies = ReleaseDependencies & {
  modelServers: Pick<ModelServerCompute, 'list' | 'terminate'>
  executions: Pick<WorkflowExecutions, 'describe' | 'listOpen'>
  log: Pick<Log, 'warn'>
  countReaped: (what: Reaped) => void
}

export type ReaperActivities = ReturnType<typeof createReaperActivities>

/** One activity handles this many; the next run of the reaper comes in 20 s. */
const portion = 100

const none = (_id?: string): Promise<string[]> => Promise.resolve([])

export function createReaperActivities(deps: ReaperDependencies) {
  const { database, trainers, modelServers, settings, executions } = deps

  /** At most a portion. A kind whose search fails hides no other. */
  async function lostWork(kind: WorkKind): Promise<Work[]> {
    const lost: Work[] = []
    let open: Set<string> | undefined
    try {
      for await (const page of database.durableWork.started(kind)) {
        open ??= await executions.listOpen(durableWork[kind].workflowType)
        for (const { id } of page) if (!open.has(workflowIdOf({ kind, id }))) lost.push({ kind, id })
        if (lost.length >= portion) break
      }
    } catch (error) {
      deps.log.warn({ err: error, kind }, 'failed to look for lost work')
    }
    return lost.slice(0, portion)
  }

  return {
    /** Runs of attempts and merges that may no longer run or have no row, and older launches of model servers. */
    findStrayRuns: (): Promise<StrayRun[]> =>
      withHeartbeat(async () => {
        const servers = (await modelServerRuns(deps)).stray
        return [...(await strayAttemptRuns(deps)), ...(await strayMerges(deps)), ...servers].slice(0, portion)
      }),

    endStrayRun: ({ name, uid, attempt, isMerge }: StrayRun): Promise<void> =>
      withHeartbeat(async () => {
        const options = { graceMs: settings.terminationGraceMs, signal: cancellationSignal() }
        if (attempt)
          await trainers.terminate({ name, uid }, { ...options, fence: () => database.attempts.fence(attempt) })
        else if (isMerge) await trainers.terminate({ name, uid }, { ...options, fence: () => Promise.resolve() })
        // A newer launch of the model server has fenced this one.
        else await modelServers.terminate({ name, uid }, options)
        reaped(deps, attempt ? 'attempt_run' : isMerge ? 'merge_run' : 'model_server_run', { name, uid })
      }),

    /** Base models whose server runs without a workflow, which would stop it when it is idle. */
    findUnwatchedServers: (): Promise<string[]> =>
      withHeartbeat(async () => {
        const unwatched: string[] = []
        for (const { baseModel } of (await modelServerRuns(deps)).current)
          if (!(await executions.describe(modelServerName(baseModel)))?.isRunning) unwatched.push(baseModel)
        return unwatched
      }),

    /** A new run of its workflow adopts the running server. */
    async watchServerAgain(baseModel: string): Promise<void> {
      const workflowId = modelServerName(baseModel)
      await database.outbox.add({ workflowId, kind: 'wake-model-server', generation: 0, payload: { baseModel } })
      reaped(deps, 'model_server_workflow', { baseModel })
    },

    /** Work that has started, has not ended, and whose workflow is not open. */
    findLostWork: (): Promise<Work[]> => withHeartbeat(async () => (await Promise.all(workKinds.map(lostWork))).flat()),

    /** The new workflow keeps the stored results and adopts a program that still runs. */
    async startWorkAgain(work: Work): Promise<void> {
      // The list may be old. A workflow closes only after its work has ended, so the work is asked last.
      if ((await executions.describe(workflowIdOf(work)))?.isRunning) return
      if (!(await database.durableWork.isOpen(work))) return
      await database.durableWork.startAgain(work)
      reaped(deps, work.kind, work)
    },

    // A round of v0.1.0 that is open during the update calls these. The next round finds all lost work.
    findLostBatches: none,
    findLostEvaluations: none,
    findLostExports: none,
    startBatchAgain: none,
    startEvaluationAgain: none,
    startExportAgain: none,

    findStrayAttempts: (): Promise<Position[]> => database.reaper.listStrayAttempts(portion),

    releaseStrayAttempt: (position: Position): Promise<void> =>
      withHeartbeat(async () => {
        await release(deps, await database.attempts.get(position), cancellationSignal())
        reaped(deps, 'attempt', position)
      }),

    /** Open jobs whose workflow was started and is no longer open. */
    findLostJobs: (): Promise<JobGeneration[]> =>
      withHeartbeat(async () => {
        const lost: JobGeneration[] = []
        let open: Set<string> | undefined
        for await (const jobs of database.reaper.deliveredJobs()) {
          open ??= await executions.listOpen('fineTune')
          for (const job of jobs) {
            // Later pages are newer than the list, so Temporal is asked about each job that is not in it.
            if (open.has(fineTuneWorkflowId(job.jobId)) || (await lostExecution(deps, job)) === null) continue
            lost.push(job)
            if (lost.length === portion) return lost
          }
        }
        return lost
      }),

    /** Releases the job's attempts, then ends it: CANCELLED if a cancel was accepted, else FAILED, so it can be resumed. */
    endLostJob: (job: JobGeneration): Promise<void> =>
      withHeartbeat(async () => {
        if ((await lostExecution(deps, job)) === null) return
        for (const attempt of await database.attempts.listUnreleased(job.jobId, job.generation))
          await release(deps, attempt, cancellationSignal())
        // Somebody may have reset or started the workflow during the release.
        const how = await lostExecution(deps, job)
        if (how === null) return
        const hasEnded = await database.transaction((tx) => end(tx, job, how))
        if (hasEnded) reaped(deps, 'job', { ...job, how })
      }),
  }
}

async function strayAttemptRuns({ database, trainers }: ReaperDependencies): Promise<StrayRun[]> {
  const ofJobs = (await trainers.list()).filter(isLiving).flatMap(({ name, uid, labels }) => {
    const position = { jobId: Number(labels['job'] ?? Number.NaN), number: Number(labels['attempt'] ?? Number.NaN) }
    return Number.isInteger(position.jobId) && Number.isInteger(position.number) ? [{ name, uid, ...position }] : []
  })
  if (ofJobs.length === 0) return []
  const wanted = new Set((await database.reaper.wantedAttempts(ofJobs)).map(key))
  return ofJobs
    .filter((run) => !wanted.has(key(run)))
    .map(({ name, uid, jobId, number }) => ({ name, uid, attempt: { jobId, number } }))
}

async function strayMerges({ database, trainers }: ReaperDependencies): Promise<StrayRun[]> {
  const merges = (await trainers.list()).filter(isLiving).flatMap(({ name, uid, labels }) => {
    const { export: id, run } = labels
    return id === undefined ? [] : [{ name, uid, id, number: Number(run) }]
  })
  if (merges.length === 0) return []
  const wanted = new Set((await database.modelExports.wantedRuns(merges)).map(({ id, number }) => `${id}/${number}`))
  return merges
    .filter(({ id, number }) => !wanted.has(`${id}/${number}`))
    .map(({ name, uid }) => ({ name, uid, attempt: null, isMerge: true }))
}

const key = ({ jobId, number }: Position) => `${jobId}/${number}`

type ModelServerRuns = { stray: StrayRun[]; current: { baseModel: string }[] }

async function modelServerRuns({ database, modelServers }: ReaperDependencies): Promise<ModelServerRuns> {
  const found: ModelServerRuns = { stray: [], current: [] }
  const living = (await modelServers.list()).filter(isLiving)
  if (living.length === 0) return found
  const rows = await database.reaper.listModelServers()
  const byName = new Map(rows.map((row) => [modelServerName(row.baseModel), row]))
  for (const { name, uid, labels } of living) {
    const row = byName.get(labels['server'] ?? '')
    if (row && String(row.generation) === labels['launch']) found.current.push(row)
    else found.stray.push({ name, uid, attempt: null })
  }
  return found
}

const isLiving = ({ state: { state } }: RunSummary) => state === 'pending' || state === 'running'

/**
 * How the workflow of an open job was lost, as a word for the job's message. Null when it is not certainly lost.
 * A workflow closes only after its job has ended in Postgres, so the job is asked after Temporal.
 */
async function lostExecution({ database, executions }: ReaperDependencies, job: JobGeneration): Promise<string | null> {
  const execution = await executions.describe(fineTuneWorkflowId(job.jobId))
  if (execution?.isRunning) return null
  const held = await database.transaction((tx) => tx.reaper.holdDelivered(job))
  return held && howLost(execution)
}

function howLost(execution: WorkflowExecution | null): string {
  return execution === null ? 'deleted' : execution.status.toLowerCase().replaceAll('_', ' ')
}

/** @returns false when a command was accepted first */
async function end(tx: Repositories, job: JobGeneration, how: string): Promise<boolean> {
  const held = await tx.reaper.holdDelivered(job)
  if (!held) return false
  const ending: Pick<JobEnding, 'status' | 'reason' | 'message'> = held.isCancelling
    ? { status: 'CANCELLED', reason: 'cancelled', message: 'Cancelled. All its resources are released.' }
    : {
        status: 'FAILED',
        reason: 'workflow_terminated',
        message: `The job's workflow in Temporal was ${how}. All resources of the job are released. Resume the job to continue.`,
      }
  const { status: to, reason, message } = ending
  return (await tx.trainingJobs.move({ ...job, to, reason, message, actor: 'reaper' })) === 'moved'
}

function reaped({ log, countReaped }: ReaperDependencies, what: Reaped, details: object) {
  log.warn({ what, ...details }, 'reaper released a lost resource')
  countReaped(what)
}
