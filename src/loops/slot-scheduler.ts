import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Loop } from './run-loop.ts'

const sweepMs = 5000

/** Grants free slots to the attempts that wait for one. Any number of workers may run. */
export const slotScheduler = ({
  database,
  notifications,
  slots,
}: {
  database: Pick<Database, 'transaction'>
  notifications: Pick<Notifications, 'on'>
  /** Null: no limit. */
  slots: () => number | null
}): Loop => ({
  name: 'slot scheduler',
  subscribe: (wake) => notifications.on('slots', wake),
  async pass() {
    await database.transaction(async (tx) => {
      await tx.attempts.grantSlots(slots())
      await tx.attempts.resendSlotSignals()
    })
    return sweepMs
  },
})
