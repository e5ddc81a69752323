import { workKinds } from '../domain/durable-work.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Loop } from './run-loop.ts'

const sweepMs = 5000
const portion = 50

/** Gives turns to the durable work that waits. Any number of workers may run. */
export const workScheduler = ({
  database,
  notifications,
  places,
}: {
  database: Pick<Database, 'transaction'>
  notifications: Pick<Notifications, 'on'>
  /** The places that each account has for each kind of work. */
  places: number
}): Loop => ({
  name: 'work scheduler',
  subscribe: (wake) => notifications.on('work', wake),
  async pass() {
    let most = 0
    for (const kind of workKinds)
      most = Math.max(most, await database.transaction((tx) => tx.durableWork.grant(kind, { places, limit: portion })))
    return most === portion ? 0 : sweepMs
  },
})
