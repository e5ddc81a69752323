// Reads, signals and deletes workflow executions. An execution is one run of a workflow id, in Temporal's words.
import { WorkflowNotFoundError, type Client, type WorkflowHandle } from '@temporalio/client'
import type { SignalDefinition } from '@temporalio/common'
import { slotSignal, waitSignal, type ShownWait } from '../../workflows/contract.ts'

/** `acceptedAt`: when the command that started it was accepted, if known. `status`: Temporal's own word, in capitals. */
export type WorkflowExecution = {
  runId: string
  generation: number
  acceptedAt: string | null
  isRunning: boolean
  status: string
}

/** The newest execution. @returns null when Temporal answers that there is none; throws when Temporal does not answer */
export async function describeExecution(handle: WorkflowHandle): Promise<WorkflowExecution | null> {
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

/** Does nothing when no execution is open. */
export async function signalIfOpen<Args extends unknown[]>(
  client: Client,
  workflowId: string,
  signal: SignalDefinition<Args>,
  ...args: Args
): Promise<void> {
  await ifFound(client.workflow.getHandle(workflowId).signal(signal, ...args))
}

/** Null when Temporal answers that there is no such workflow, or that it has closed. */
export async function ifFound<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

export const createWorkflowExecutions = (client: Client) => ({
  describe: (workflowId: string) => describeExecution(client.workflow.getHandle(workflowId)),

  /** Ids of the open workflows of a type; the list may be some moments old. */
  async listOpen(type: string): Promise<Set<string>> {
    const ids = new Set<string>()
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) ids.add(workflowId)
    return ids
  },

  /** A workflow that waits for a slot asks again. */
  resendSlotSignal: (workflowId: string) => signalIfOpen(client, workflowId, slotSignal),

  /** A workflow shows why its attempt waits. */
  tellWait: (workflowId: string, wait: ShownWait) => signalIfOpen(client, workflowId, waitSignal, wait),

  /** Deletes the runs of a workflow id that closed before then. @returns how many, at most `limit` */
  async deleteClosedRuns(workflowId: string, closedBefore: Date, limit: number): Promise<number> {
    const { namespace } = client.options
    const query = `WorkflowId = '${workflowId}' AND CloseTime < '${closedBefore.toISOString()}'`
    let count = 0
    for await (const { runId } of client.workflow.list({ query, pageSize: limit })) {
      await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } })
      if (++count >= limit) break
    }
    return count
  },
})

export type WorkflowExecutions = ReturnType<typeof createWorkflowExecutions>
