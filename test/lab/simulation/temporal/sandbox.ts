// Runs workflow code as production does, as our bundle in the SDK's sandbox, but driven by a schedule.
import { DefaultLogger, Runtime } from '@temporalio/worker'
import { TypedSearchAttributes } from '@temporalio/common'
import { msToTs } from '@temporalio/common/lib/time.js'
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js'
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js'
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js'
import assert from 'node:assert/strict'

/** A history consists of tasks: the jobs of an activation and the commands that the code answered. */
export type Job = Record<string, object>
export type Command = Record<string, Record<string, unknown> | null>
export type Task = { atMs: number; jobs: Job[]; commands: Command[]; flags: number[] }
export type WorkflowStart = { type: string; workflowId: string; runId: string; startMs: number }

type Completion = {
  successful?: { commands?: Command[]; usedInternalFlags?: number[] }
  failed?: { failure: { message?: string; stackTrace?: string } }
}

const hour = 60 * 60_000
/** A limit starts a thread for each call into the sandbox, which takes more than half of a schedule's time. */
const noTimeLimit: number | undefined = undefined

/** Tasks after which a run is asked to continue in a new one: few, so that jobs with several attempts do. */
const longHistory = 6

export type Sandbox = Awaited<ReturnType<typeof createSandbox>>
export type LiveWorkflow = { activate(task: { atMs: number; jobs: Job[] }): Promise<Task>; dispose(): void }

export async function createSandbox(code: string) {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  // The hook follows every promise of this process for stack traces that nothing reads here.
  Object.assign(globalHandlers, { setPromiseHook: () => undefined })
  const creator = await ReusableVMWorkflowCreator.create(parseWorkflowCode(code), noTimeLimit as number, new Set())

  return {
    /** Rebuilds a workflow from its history, as after a crash. The workflow must make the same decisions again. */
    async open(start: WorkflowStart, history: readonly Task[]): Promise<LiveWorkflow> {
      const live = await creator.createWorkflow({
        info: infoOf(start),
        randomnessSeed: [1, 2, 3, 4, 5, 6, 7, 8],
        now: start.startMs,
        showStackTraceSources: false,
        failureExceptionTypeNames: [],
      } as unknown as Parameters<typeof creator.createWorkflow>[0])
      let taskCount = 0
      const activate = async ({ atMs, jobs }: { atMs: number; jobs: Job[] }, flags: number[], isReplaying: boolean) => {
        const completion = (await live.activate({
          runId: start.runId,
          timestamp: msToTs(atMs),
          isReplaying,
          historyLength: ++taskCount,
          continueAsNewSuggested: taskCount >= longHistory,
          availableInternalFlags: flags,
          jobs: toSorted(jobs),
        } as unknown as Parameters<typeof live.activate>[0])) as unknown as Completion
        await live.getAndResetSinkCalls()
        if (completion.failed) throw new Error(`a workflow task failed: ${completion.failed.failure.stackTrace ?? ''}`)
        const { commands = [], usedInternalFlags = [] } = completion.successful ?? {}
        return { atMs, jobs, commands, flags: usedInternalFlags }
      }
      for (const task of history) {
        const patches = task.commands.flatMap(({ setPatchMarker: patch }) => (patch ? [{ notifyHasPatch: patch }] : []))
        const again = await activate({ ...task, jobs: [...patches, ...task.jobs] }, task.flags, true)
        assert.equal(kinds(again), kinds(task), 'a replay decided otherwise')
      }
      return { activate: (task) => activate(task, [], false), dispose: () => void live.dispose() }
    },
  }
}

const kinds = ({ commands }: Task) => commands.map((command) => Object.keys(command).join()).join(' ')

/** Core hands out the start first, then patches, then signals. */
function toSorted(jobs: readonly Job[]): Job[] {
  const rank = (job: Job) =>
    'initializeWorkflow' in job ? 0 : 'notifyHasPatch' in job ? 1 : 'signalWorkflow' in job ? 2 : 3
  return jobs.toSorted((a, b) => rank(a) - rank(b))
}

function infoOf({ type, workflowId, runId, startMs }: WorkflowStart) {
  return {
    workflowId,
    runId,
    workflowType: type,
    searchAttributes: {},
    typedSearchAttributes: new TypedSearchAttributes(),
    taskQueue: 'anneal',
    namespace: 'default',
    firstExecutionRunId: runId,
    startTime: new Date(startMs),
    runStartTime: new Date(startMs),
    taskTimeoutMs: 10_000,
    attempt: 1,
    historyLength: 3,
    historySize: 0,
    continueAsNewSuggested: false,
    unsafe: { now: () => startMs, isReplaying: false, isReplayingHistoryEvents: false, random: () => 0 },
    executionTimeoutMs: 1000 * hour,
  }
}
