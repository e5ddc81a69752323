// The Temporal server of a schedule: runs with their histories, timers and activities. Its state is durable; workers come
// and go.
import { defaultPayloadConverter } from '@temporalio/common'
import { msToTs, optionalTsToMs } from '@temporalio/common/lib/time.js'
import { kernel } from '../kernel.ts'
import { Activities, type ScheduledActivity } from './activities.ts'
import type { Command, Job, Task } from './sandbox.ts'

type RunStatus = 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELED' | 'TERMINATED' | 'CONTINUED_AS_NEW'

export type Run = {
  workflowId: string
  runId: string
  type: string
  memo: Record<string, unknown>
  startMs: number
  closedMs: number | null
  status: RunStatus
  history: Task[]
  pending: Job[]
  activities: Map<number, ScheduledActivity>
  timers: Set<number>
  isTaskOut: boolean
}

/** The workers that it hands tasks to. A worker may die with its task. */
type Workers = {
  runTask(run: Run): void
  runActivity(activity: ScheduledActivity, token: object): void
}

type StartOptions = { type: string; workflowId: string; input: unknown[]; memo?: Record<string, unknown> }

const taskTimeoutMs = 10_000

export class TemporalServer {
  readonly runs = new Map<string, Run[]>()
  readonly activities: Activities
  readonly #workers: Workers
  #count = 0

  constructor(workers: Workers) {
    this.#workers = workers
    this.activities = new Activities({
      runActivity: (activity, token) => workers.runActivity(activity, token),
      resolved: ({ run, seq }, result) => this.#add(run, { resolveActivity: { seq, result } }),
    })
  }

  all = () => [...this.runs.values()].flat()
  newest = (workflowId: string) => this.runs.get(workflowId)?.at(-1) ?? null

  start({ type, workflowId, input, memo = {} }: StartOptions): Run {
    const run: Run = {
      ...{ workflowId, runId: `run-${++this.#count}`, type, memo, startMs: kernel().nowMs, closedMs: null },
      ...{ status: 'RUNNING', history: [], pending: [], activities: new Map(), timers: new Set() },
      ...{ isTaskOut: false },
    }
    const started = this.runs.get(workflowId)
    if (started) started.push(run)
    else this.runs.set(workflowId, [run])
    const args = input.map((each) => defaultPayloadConverter.toPayload(each))
    const about = { workflowType: type, workflowId, firstExecutionRunId: run.runId, attempt: 1 }
    this.#add(run, { initializeWorkflow: { ...about, arguments: args, startTime: msToTs(run.startMs) } })
    return run
  }

  signal(run: Run, signalName: string, args: readonly unknown[]) {
    const input = args.map((each) => defaultPayloadConverter.toPayload(each))
    this.#add(run, { signalWorkflow: { signalName, input } })
  }

  cancel = (run: Run) => this.#add(run, { cancelWorkflow: { reason: 'asked' } })

  terminate = (run: Run) => this.#close(run, 'TERMINATED')

  delete(workflowId: string) {
    const run = this.newest(workflowId)
    if (run) this.terminate(run)
    this.runs.delete(workflowId)
  }

  #add(run: Run, job: Job) {
    if (run.status !== 'RUNNING') return
    run.pending.push(job)
    this.#dispatch(run)
  }

  #dispatch(run: Run) {
    if (run.isTaskOut || run.pending.length === 0 || run.status !== 'RUNNING') return
    run.isTaskOut = true
    const taskCount = run.history.length
    kernel().later(kernel().between(1, 20), () => this.#workers.runTask(run))
    // The worker may have died, or it may hang.
    kernel().later(taskTimeoutMs, () => {
      if (run.isTaskOut && run.history.length === taskCount) this.taskFailed(run)
    })
  }

  taskFailed(run: Run) {
    run.isTaskOut = false
    this.#dispatch(run)
  }

  /** @returns false when the result is ignored: the task was handed out again, or a closing run has not seen the newest jobs */
  taskDone(run: Run, before: number, task: Task): boolean {
    if (run.status !== 'RUNNING' || run.history.length !== before || !run.isTaskOut) return false
    const isClosing = task.commands.some((command) => closingOf(command) !== null)
    if (isClosing && run.pending.length > task.jobs.length) {
      this.taskFailed(run)
      return false
    }
    run.history.push(task)
    run.pending = run.pending.filter((job) => !task.jobs.includes(job))
    run.isTaskOut = false
    for (const command of task.commands) this.#obey(run, command)
    this.#dispatch(run)
    return true
  }

  #obey(run: Run, command: Command) {
    const closing = closingOf(command)
    if (closing) this.#close(run, closing)
    if (closing === 'CONTINUED_AS_NEW') this.#continue(run, command)
    if (closing) return
    const { scheduleActivity, requestCancelActivity, startTimer, cancelTimer } = command
    if (scheduleActivity) this.activities.schedule(run, scheduleActivity)
    if (requestCancelActivity) this.activities.cancel(run, Number(requestCancelActivity['seq']))
    if (startTimer) {
      const seq = Number(startTimer['seq'])
      run.timers.add(seq)
      kernel().later(optionalTsToMs(startTimer['startToFireTimeout'] as never) ?? 0, () => {
        if (run.timers.delete(seq)) this.#add(run, { fireTimer: { seq } })
      })
    }
    if (cancelTimer) run.timers.delete(Number(cancelTimer['seq']))
  }

  /** Starts the new run in one step with the end of the old one, so that there is always an open run. */
  #continue({ type, workflowId, memo }: Run, { continueAsNewWorkflowExecution: command }: Command) {
    const payloads = (command?.['arguments'] ?? []) as never[]
    const input = payloads.map((each) => defaultPayloadConverter.fromPayload(each))
    this.start({ type, workflowId, input, memo })
  }

  #close(run: Run, status: RunStatus) {
    if (run.status !== 'RUNNING') return
    run.status = status
    run.closedMs = kernel().nowMs
    run.timers.clear()
    run.activities.clear()
    run.pending = []
  }
}

function closingOf(command: Command): RunStatus | null {
  if (command['completeWorkflowExecution']) return 'COMPLETED'
  if (command['failWorkflowExecution']) return 'FAILED'
  if (command['continueAsNewWorkflowExecution']) return 'CONTINUED_AS_NEW'
  return command['cancelWorkflowExecution'] ? 'CANCELED' : null
}
