// Keeps one execution of each housekeeping workflow open, whatever ended or broke the one before.
import {
  WorkflowExecutionAlreadyStartedError,
  type Client,
  type WorkflowExecutionDescription,
} from '@temporalio/client'
import { dailyRetentionWorkflowId, reaperWorkflowId, retentionWorkflowId, taskQueue } from '../../workflows/contract.ts'
import { ifFound } from './workflow-executions.ts'

const workflows = [
  { type: 'reaper', workflowId: reaperWorkflowId, staticSummary: 'Releases resources whose workflow is gone' },
  { type: 'retention', workflowId: retentionWorkflowId, staticSummary: 'Removes old rows and objects, every hour' },
  { type: 'dailyRetention', workflowId: dailyRetentionWorkflowId, staticSummary: 'Removes lost objects, every day' },
]

/** Fewer failed workflow tasks in a row may come from workers of two releases during an update. */
const maxFailedTasks = 5

/** Starts what is missing, and replaces what cannot go on. Any number of workers may do so at once. */
export async function ensureHousekeeping(client: Client): Promise<void> {
  for (const { type, workflowId, staticSummary } of workflows) {
    const open = await ifFound(client.workflow.getHandle(workflowId).describe())
    if (open?.status.name === 'RUNNING' && !isStuck(open)) continue
    // The history of another release may not replay on this one. Its rounds keep no state, so a new execution loses nothing.
    if (open && isStuck(open)) await ifFound(client.workflow.getHandle(workflowId, open.runId).terminate('stuck'))
    await client.workflow.start(type, { workflowId, taskQueue, args: [], staticSummary }).catch((error: unknown) => {
      // Another worker was faster.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    })
  }
}

/** No worker could do the newest workflow task. */
function isStuck({ status, raw }: WorkflowExecutionDescription): boolean {
  return status.name === 'RUNNING' && (raw.pendingWorkflowTask?.attempt ?? 1) > maxFailedTasks
}
