import type { Database } from '../../repositories/database.ts'
import type { Notifications } from '../../repositories/notifications.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import { createTtlCache } from '../ttl-cache.ts'

export type HasRows = (place: Collection) => Promise<boolean>

/**
 * As of the last second; of rows that were just added it hears at once. Each completion asks, so it costs none of them a
 * query; whoever needs to know of a deletion asks the database.
 */
export function createHasRows(
  {
    database: { storedRows },
    notifications,
  }: { database: Pick<Database, 'storedRows'>; notifications: Pick<Notifications, 'on'> },
  now?: () => number,
): HasRows {
  const cache = createTtlCache<boolean>(now)
  notifications.on('stored_rows', cache.forget)
  return (place) => cache.get(`${place.accountId} ${place.collection}`, () => storedRows.exists(place))
}
