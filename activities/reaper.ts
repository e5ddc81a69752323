// What is there and should not be. The cluster is listed first, then Postgres and Temporal are asked: what was launched
// after the list cannot be judged by it. Everything here acts on confirmed facts; what does not answer fails the activity.
import { cancellationSignal } from '@temporalio/activity'
import type { RunFilter, RunSummary } from '../src/compute/compute.ts'
import { fineTuneWorkflowId, modelServerName } from '../src/domain/identifiers.ts'
import { inferenceBatchWorkflowId } from '../src/domain/inference-batch.ts'
import type { JobEnding } from '../src/domain/training-job.ts'
import type { Log } from '../src/log.ts'
import type { Repositories } from '../src/repositories/database.ts'
import type { WorkflowRun, WorkflowRuns } from '../src/temporal/runs.ts'
import { withHeartbeat } from './heartbeat.ts'
import { release, type ReleaseDependencies } from './release.ts'

type RunOfJob = { jobId: number; generation: number }
type Position = { jobId: number; number: number }
type StrayRun = { name: string; uid: string; attempt: Position | null }
export type Reaped = 'attempt_run' | 'model_server_run' | 'model_server_workflow' | 'attempt' | 'job' | 'batch'

export type ReaperDependencies = ReleaseDependencies & {
  runs: Pick<WorkflowRuns, 'describe' | 'listOpen'>
  log: Pick<Log, 'warn'>
  countReaped: (what: Reaped) => void
}

export type ReaperActivities = ReturnType<typeof createReaperActivities>

/** A look handles so many of a kind; the next one comes in 20 s. */
const portion = 100

export function createReaperActivities(deps: ReaperDependencies) {
  const { database, compute, settings, runs } = deps

  return {
    /** Runs of attempts that may not run any more, or that nobody knows, and of model servers of an older generation. */
    findStrayRuns: (): Promise<StrayRun[]> =>
      withHeartbeat(async () => {
        const living = await livingRuns(deps)
        const servers = (await serverRuns(deps, living)).stray
        return [...(await strayAttemptRuns(deps, living)), ...servers].slice(0, portion)
      }),

    endStrayRun: ({ name, uid, attempt }: StrayRun): Promise<void> =>
      withHeartbeat(async () => {
        // A model server is fenced by its generation, an unknown attempt by its token that nobody knows.
        const fence = async () => {
          if (attempt) await database.attempts.fence(attempt)
        }
        await compute.terminate(
          { name, uid },
          { graceMs: settings.terminationGraceMs, fence, signal: cancellationSignal() },
        )
        reaped(deps, attempt ? 'attempt_run' : 'model_server_run', { name, uid })
      }),

    /** Base models whose server runs though no workflow watches it: nobody would stop it when it is idle. */
    findUnwatchedServers: (): Promise<string[]> =>
      withHeartbeat(async () => {
        const unwatched: string[] = []
        for (const { baseModel } of (await serverRuns(deps, await livingRuns(deps, { program: 'model-server' })))
          .current)
          if (!(await runs.describe(modelServerName(baseModel)))?.isRunning) unwatched.push(baseModel)
        return unwatched
      }),

    /** A new run of its workflow adopts the server as it is. */
    async watchServerAgain(baseModel: string): Promise<void> {
      const workflowId = modelServerName(baseModel)
      await database.outbox.add({ workflowId, kind: 'wake-model-server', generation: 0, payload: { baseModel } })
      reaped(deps, 'model_server_workflow', { baseModel })
    },

    /** Started once, not ended, and without a run that is open. */
    findLostBatches: (): Promise<string[]> =>
      withHeartbeat(async () => {
        const lost: string[] = []
        let open: Set<string> | undefined
        for await (const batches of database.upkeep.startedBatches()) {
          open ??= await runs.listOpen('inferenceBatch')
          for (const { id } of batches) if (!open.has(inferenceBatchWorkflowId(id))) lost.push(id)
          if (lost.length >= portion) break
        }
        return lost.slice(0, portion)
      }),

    /** Chunks that are done are not done again. */
    async startBatchAgain(batchId: string): Promise<void> {
      const workflowId = inferenceBatchWorkflowId(batchId)
      // The list may be some moments old. A run closes only after its batch has ended, so that is asked last.
      if ((await runs.describe(workflowId))?.isRunning) return
      if ((await database.inferenceBatches.get(batchId)).state !== 'running') return
      await database.outbox.add({ workflowId, kind: 'start-batch', generation: 1, payload: { batchId } })
      reaped(deps, 'batch', { batchId })
    },

    findStrayAttempts: (): Promise<Position[]> => database.upkeep.listStrayAttempts(portion),

    releaseStrayAttempt: (position: Position): Promise<void> =>
      withHeartbeat(async () => {
        await release(deps, await database.attempts.get(position), cancellationSignal())
        reaped(deps, 'attempt', position)
      }),

    /** Open jobs, known to Temporal once, of which no run is open. */
    findLostJobs: (): Promise<RunOfJob[]> =>
      withHeartbeat(async () => {
        const lost: RunOfJob[] = []
        let open: Set<string> | undefined
        for await (const jobs of database.upkeep.deliveredJobs()) {
          open ??= await runs.listOpen('fineTune')
          for (const job of jobs) {
            // The list is older than the later pages: of what is not in it Temporal is asked.
            if (open.has(fineTuneWorkflowId(job.jobId)) || (await lostRun(deps, job)) === null) continue
            lost.push(job)
            if (lost.length === portion) return lost
          }
        }
        return lost
      }),

    /** Releases everything of it, and ends it: CANCELLED if that was accepted, else FAILED and ready to be resumed. */
    endLostJob: (job: RunOfJob): Promise<void> =>
      withHeartbeat(async () => {
        if ((await lostRun(deps, job)) === null) return
        for (const attempt of await database.attempts.listUnreleased(job.jobId, job.generation))
          await release(deps, attempt, cancellationSignal())
        // The release took time, in which somebody may have reset or started it.
        const how = await lostRun(deps, job)
        if (how === null) return
        const hasEnded = await database.transaction((tx) => end(tx, job, how))
        if (hasEnded) reaped(deps, 'job', { ...job, how })
      }),
  }
}

async function strayAttemptRuns({ database }: ReaperDependencies, living: RunSummary[]): Promise<StrayRun[]> {
  const ofJobs = living.flatMap(({ name, uid, labels }) => {
    const position = { jobId: Number(labels['job'] ?? Number.NaN), number: Number(labels['attempt'] ?? Number.NaN) }
    return Number.isInteger(position.jobId) && Number.isInteger(position.number) ? [{ name, uid, ...position }] : []
  })
  if (ofJobs.length === 0) return []
  const wanted = new Set((await database.upkeep.wantedAttempts(ofJobs)).map(key))
  return ofJobs
    .filter((run) => !wanted.has(key(run)))
    .map(({ name, uid, jobId, number }) => ({ name, uid, attempt: { jobId, number } }))
}

const key = ({ jobId, number }: Position) => `${jobId}/${number}`

type ServerRuns = { stray: StrayRun[]; current: { baseModel: string }[] }

async function serverRuns({ database }: ReaperDependencies, living: RunSummary[]): Promise<ServerRuns> {
  const found: ServerRuns = { stray: [], current: [] }
  const ofServers = living.filter(({ labels }) => labels['server'] !== undefined)
  if (ofServers.length === 0) return found
  const rows = await database.upkeep.listModelServers()
  const byName = new Map(rows.map((row) => [modelServerName(row.baseModel), row]))
  for (const { name, uid, labels } of ofServers) {
    const row = byName.get(labels['server'] ?? '')
    if (row && String(row.generation) === labels['generation']) found.current.push(row)
    else found.stray.push({ name, uid, attempt: null })
  }
  return found
}

async function livingRuns({ compute }: ReaperDependencies, of: RunFilter = {}): Promise<RunSummary[]> {
  return (await compute.list(of)).filter(({ state: { state } }) => state === 'pending' || state === 'running')
}

/**
 * How the run of an open job was lost: a word for its sentence. Null when it is not lost, or not for certain.
 * A workflow closes only after its job has ended in Postgres; so the job, asked after Temporal, tells which came first.
 */
async function lostRun({ database, runs }: ReaperDependencies, job: RunOfJob): Promise<string | null> {
  const run = await runs.describe(fineTuneWorkflowId(job.jobId))
  if (run?.isRunning) return null
  const held = await database.transaction((tx) => tx.upkeep.holdDelivered(job))
  return held && howLost(run)
}

function howLost(run: WorkflowRun | null): string {
  return run === null ? 'deleted' : run.status.toLowerCase().replaceAll('_', ' ')
}

/** @returns false when a command came first */
async function end(tx: Repositories, job: RunOfJob, how: string): Promise<boolean> {
  const held = await tx.upkeep.holdDelivered(job)
  if (!held) return false
  const ending: Pick<JobEnding, 'status' | 'reason' | 'message'> = held.isCancelling
    ? { status: 'CANCELLED', reason: 'cancelled', message: 'Cancelled; everything it used is released.' }
    : {
        status: 'FAILED',
        reason: 'workflow_terminated',
        message: `Its workflow in Temporal was ${how}; everything it used is released. Resume it to go on.`,
      }
  const { status: to, reason, message } = ending
  return (await tx.trainingJobs.move({ ...job, to, reason, message, actor: 'reaper' })) === 'moved'
}

function reaped({ log, countReaped }: ReaperDependencies, what: Reaped, details: object) {
  log.warn({ what, ...details }, 'released what should not be there')
  countReaped(what)
}
