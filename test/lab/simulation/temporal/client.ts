// The part of Temporal's client that the product uses, on the server of a schedule.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import type { Faults } from '../faults.ts'
import { kernel } from '../kernel.ts'
import type { Run, TemporalServer } from './server.ts'

type Start = { workflowId: string; args: unknown[]; memo?: Record<string, unknown> }
type Signal = { signal: { name: string }; signalArgs?: unknown[] }

/** Lists come from an index that lags by up to this time. */
const staleMs = 3000

export function createTemporalClient(server: TemporalServer, faults: Faults): Client {
  const through = <T>(operation: string, effect: () => T) => faults.through('temporal', `temporal.${operation}`, effect)

  function find(workflowId: string, runId?: string): Run {
    const run = (server.runs.get(workflowId) ?? []).findLast((each) => runId === undefined || each.runId === runId)
    if (!run) throw new WorkflowNotFoundError('no such workflow', workflowId, runId)
    return run
  }

  function findOpen(workflowId: string, runId?: string): Run {
    const run = find(workflowId, runId)
    if (run.status !== 'RUNNING') throw new WorkflowNotFoundError('workflow has closed', workflowId, runId)
    return run
  }

  const start = (type: string, { workflowId, args, memo }: Start) => {
    if (server.newest(workflowId)?.status === 'RUNNING')
      throw new WorkflowExecutionAlreadyStartedError('it runs', workflowId, type)
    return server.start({ type, workflowId, input: args, ...(memo && { memo }) })
  }

  const workflow = {
    getHandle: (workflowId: string, runId?: string) => ({
      describe: () =>
        through('describe', () => {
          const run = find(workflowId, runId)
          return { runId: run.runId, memo: run.memo, status: { name: run.status } }
        }),
      signal: ({ name }: { name: string }, ...args: unknown[]) =>
        through('signal', () => server.signal(findOpen(workflowId, runId), name, args)),
      cancel: () => through('cancel', () => server.cancel(findOpen(workflowId, runId))),
    }),
    start: (type: string, options: Start) => through('start', () => void start(type, options)),
    signalWithStart: (type: string, { signal, signalArgs = [], ...options }: Start & Signal) =>
      through('signalWithStart', () => {
        const open = server.newest(options.workflowId)
        const run = open?.status === 'RUNNING' ? open : start(type, options)
        server.signal(run, signal.name, signalArgs)
      }),
    async *list() {
      const atMs = kernel().nowMs - kernel().between(0, staleMs)
      yield* await through('list', () =>
        server
          .all()
          .filter(
            ({ type, startMs, closedMs }) => type === 'fineTune' && startMs <= atMs && (closedMs ?? Infinity) > atMs,
          ),
      )
    },
  }
  // The simulated processes use only these; any other member is undefined and fails the schedule.
  return { workflow, options: { namespace: 'default' } } as unknown as Client
}
