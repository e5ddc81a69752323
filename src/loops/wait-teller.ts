import { placeText, slotWait, waitingForSlot } from '../domain/wait.ts'
import type { Database } from '../repositories/database.ts'
import type { UntoldWait } from '../repositories/attempt-waits.ts'
import type { WorkflowExecutions } from '../temporal/workflow-executions.ts'
import { fineTuneWorkflowId } from '../domain/identifiers.ts'
import type { Loop } from './run-loop.ts'

const everyMs = 5000
const portion = 100

/**
 * Corrects the reason of jobs that wait once a maintenance has begun or ended, and tells their workflows why they wait, for
 * operators who look at them in Temporal. Any number of workers may run.
 */
export const waitTeller = ({
  database,
  executions,
  slots,
}: {
  database: Pick<Database, 'attemptWaits' | 'installation'>
  executions: Pick<WorkflowExecutions, 'tellWait'>
  slots: () => number | null
}): Loop => ({
  name: 'wait teller',
  async pass(signal) {
    await database.attemptWaits.explain(slotWait(slots(), await database.installation.maintenance()))
    const waits = await database.attemptWaits.takeUntold(portion)
    if (waits.length === 0) return everyMs
    const line = { slots: slots(), longest: await database.attemptWaits.longestHeld(), at: new Date() }
    const messageOf = ({ reason, message, ahead }: UntoldWait) =>
      reason === waitingForSlot && ahead !== null ? placeText(ahead, line) : message
    for (const [index, wait] of waits.entries())
      try {
        signal.throwIfAborted()
        const { jobId, number: attempt, reason } = wait
        await executions.tellWait(fineTuneWorkflowId(jobId), { attempt, reason, message: messageOf(wait) })
      } catch (error) {
        await database.attemptWaits.forget(waits.slice(index).map(({ attemptId }) => attemptId))
        throw error
      }
    return waits.length === portion ? 0 : everyMs
  },
})
