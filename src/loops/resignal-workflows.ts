import type { WorkflowExecutions } from '../temporal/workflow-executions.ts'
import type { Loop } from './run-loop.ts'

/**
 * Once, when a worker starts: a restored Temporal may have lost the signal that a workflow waits for, and a restored
 * Postgres the message behind the signal. Such a workflow would wait for ever.
 */
export const resignalWorkflows = (executions: Pick<WorkflowExecutions, 'listOpen' | 'resendSlotSignal'>): Loop => ({
  name: 'resignal workflows',
  async pass() {
    for (const workflowId of await executions.listOpen('fineTune')) await executions.resendSlotSignal(workflowId)
    return 'done'
  },
})
