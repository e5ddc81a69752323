// Brings the outbox to Temporal: woken by notifications, swept for what they missed, in order per workflow, until Temporal has it.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { ClaimedMessage } from '../repositories/outbox.ts'
import { errorText, NotYet, type Deliver } from '../temporal/deliver-message.ts'

const batchSize = 50
const sweepMs = 5000
const notYetRetryMs = 200
const longestRetryMs = 10_000

/** Runs until `signal` aborts; any number of relays may run. Delivery may repeat: a message is marked only after Temporal took it. */
export async function relayOutbox({
  database,
  notifications,
  deliver,
  log,
  signal,
}: {
  database: Database
  notifications: Notifications
  deliver: Deliver
  log: Log
  signal: AbortSignal
}): Promise<void> {
  while (!signal.aborted) {
    try {
      const messages = await database.outbox.claim(batchSize)
      await Promise.all(messages.map(handle))
      // What was claimed may have successors of the same workflow.
      if (messages.length === 0) await wait()
    } catch (error) {
      log.warn({ error: errorText(error) }, 'the outbox cannot be read; trying again')
      await sleep(1000, undefined, { signal }).catch(() => undefined)
    }
  }

  async function handle(message: ClaimedMessage) {
    try {
      await deliver(message)
      await database.outbox.markDelivered(message.id)
    } catch (error) {
      const afterMs =
        error instanceof NotYet ? notYetRetryMs : Math.min(notYetRetryMs * 2 ** message.deliveryCount, longestRetryMs)
      if (!(error instanceof NotYet))
        log.warn(
          { workflowId: message.workflowId, kind: message.kind, error: errorText(error) },
          'not delivered; trying again',
        )
      await database.outbox.retryLater(message.id, { afterMs, error: errorText(error) })
    }
  }

  async function wait() {
    const dueInMs = await database.outbox.dueInMs()
    const timeoutMs = dueInMs === null ? sweepMs : Math.min(Math.max(dueInMs, 20), sweepMs)
    await notifications.next('outbox', { timeoutMs, signal })
  }
}
