import { placeText, slotWait, waitingForSlot } from '../domain/wait.ts'
import type { Database } from '../repositories/database.ts'
import type { UntoldWait } from '../repositories/attempt-waits.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { WorkflowExecutions } from '../temporal/workflow-executions.ts'
import { fineTuneWorkflowId } from '../domain/identifiers.ts'
import type { Loop } from './run-loop.ts'

/** While an attempt waits: its reason and its place may change. */
const everyMs = 5000
/** While none waits. A notification tells of the next one. */
const sweepMs = 60_000
const portion = 100

/**
 * Corrects the reason of jobs that wait once a maintenance has begun or ended, and tells their workflows why they wait, for
 * operators who look at them in Temporal. Any number of workers may run.
 */
export const waitTeller = ({
  database,
  notifications,
  executions,
  slots,
}: {
  database: Pick<Database, 'attemptWaits' | 'installation'>
  notifications: Pick<Notifications, 'on'>
  executions: Pick<WorkflowExecutions, 'tellWait'>
  slots: () => number | null
}): Loop => ({
  name: 'wait teller',
  subscribe: (wake) => notifications.on('waits', wake),
  async pass(signal) {
    if (!(await database.attemptWaits.exist())) return sweepMs
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
