// What Temporal knows of the runs of a workflow.
import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client'
import type { SignalDefinition } from '@temporalio/common'
import { slotSignal } from '../../workflows/contract.ts'

/** `acceptedAt` is of the command that it was started for, where that is known. `status` is Temporal's own word, in capitals. */
export type WorkflowRun = {
  runId: string
  generation: number
  acceptedAt: string | null
  isRunning: boolean
  status: string
}

/** The newest run. @returns null when Temporal answers that there is none; throws when it does not answer */
export async function describeRun(handle: WorkflowHandle): Promise<WorkflowRun | null> {
  try {
    const { runId, memo, status } = await handle.describe()
    return {
      runId,
      generation: Number(memo?.['generation'] ?? 0),
      acceptedAt: typeof memo?.['acceptedAt'] === 'string' ? memo['acceptedAt'] : null,
      isRunning: status.name === 'RUNNING',
      status: status.name,
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/** Of what is of interest only to a run that is there. */
export async function signalIfOpen<Args extends unknown[]>(
  client: Client,
  workflowId: string,
  signal: SignalDefinition<Args>,
  ...args: Args
): Promise<void> {
  await client.workflow
    .getHandle(workflowId)
    .signal(signal, ...args)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    })
}

export const createWorkflowRuns = (client: Client) => ({
  describe: (workflowId: string) => describeRun(client.workflow.getHandle(workflowId)),

  /** Ids of the workflows of a type that run; the list may be some moments old. */
  async listOpen(type: string): Promise<Set<string>> {
    const ids = new Set<string>()
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) ids.add(workflowId)
    return ids
  },

  /** A run that waits for a slot asks for it again. */
  remind: (workflowId: string) => signalIfOpen(client, workflowId, slotSignal),

  /** Forgets closed runs that a schedule started before then. @returns how many, at most `limit` */
  async deleteScheduled(scheduleId: string, closedBefore: Date, limit: number): Promise<number> {
    const { namespace } = client.options
    const query = `TemporalScheduledById = '${scheduleId}' AND CloseTime < '${closedBefore.toISOString()}'`
    let count = 0
    for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: limit })) {
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } })
      if (++count >= limit) break
    }
    return count
  },
})

export type WorkflowRuns = ReturnType<typeof createWorkflowRuns>
