// Hands out slots as they become free: woken by notifications, swept for what they missed. One look for all that wait.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'

const sweepMs = 5000

/** Runs until `signal` aborts; any number of workers may run it. */
export async function handOutSlots({
  database,
  notifications,
  slots,
  log,
  signal,
}: {
  database: Pick<Database, 'transaction'>
  notifications: Pick<Notifications, 'next'>
  /** Null: as many as are asked for. */
  slots: () => number | null
  log: Log
  signal: AbortSignal
}): Promise<void> {
  while (!signal.aborted) {
    // From before the look on: what becomes free while it looks is not left to the next sweep.
    const woken = notifications.next('slots', { timeoutMs: sweepMs, signal })
    try {
      await database.transaction(async (tx) => {
        await tx.attempts.grantSlots(slots())
        await tx.attempts.tellOfSlotsAgain()
      })
      await woken
    } catch (error) {
      log.warn({ error: String(error) }, 'no slots can be handed out; trying again')
      await sleep(1000, undefined, { signal }).catch(() => undefined)
    }
  }
}
