// Delivers the outbox to Temporal, in order per workflow.
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { ClaimedMessage } from '../repositories/outbox.ts'
import { errorText, NotYet, type Deliver } from '../temporal/deliver-message.ts'
import type { Loop } from './run-loop.ts'

const batchSize = 50
const sweepMs = 5000
const minWaitMs = 20
const notYetRetryMs = 200
const maxRetryMs = 10_000

/** Any number of relays may run. A message may be delivered twice: it is marked only after Temporal took it. */
export function outboxRelay({
  database: { outbox },
  notifications,
  deliver,
  log,
}: {
  database: Pick<Database, 'outbox'>
  notifications: Pick<Notifications, 'on'>
  deliver: Deliver
  log: Pick<Log, 'warn'>
}): Loop {
  return {
    name: 'outbox relay',
    subscribe: (wake) => notifications.on('outbox', wake),
    async pass() {
      const messages = await outbox.claim(batchSize)
      await Promise.all(messages.map(handle))
      // A delivered message may have a successor of the same workflow.
      if (messages.length > 0) return 0
      return Math.min(Math.max((await outbox.dueInMs()) ?? sweepMs, minWaitMs), sweepMs)
    },
  }

  async function handle(message: ClaimedMessage) {
    try {
      await deliver(message)
      await outbox.markDelivered(message.id)
    } catch (error) {
      const { id, workflowId, kind, deliveryCount } = message
      const isNotYet = error instanceof NotYet
      if (!isNotYet) log.warn({ workflowId, kind, err: error }, 'failed to deliver an outbox message')
      const afterMs = isNotYet ? notYetRetryMs : Math.min(notYetRetryMs * 2 ** deliveryCount, maxRetryMs)
      await outbox.retryLater(id, { afterMs, error: errorText(error) })
    }
  }
}
