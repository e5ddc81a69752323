import type { Database } from '../../repositories/database.ts'
import type { Notifications } from '../../repositories/notifications.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import { createTtlCache } from '../ttl-cache.ts'

export type HasRows = (place: Collection) => Promise<boolean>

/**
 * Answers from a cache of one second, which a notification of new rows clears, so completions pay no query for it. A caller
 * that must see a deletion at once asks the database.
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
