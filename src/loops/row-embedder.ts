import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Loop } from './run-loop.ts'

/** Small, because a query waits for the batch before it. */
const batchSize = 32
const sweepMs = 5000

/** Embeds stored rows, a batch at a time. Any number of workers may run; a batch that is embedded twice gets the same vectors. */
export const rowEmbedder = ({
  database: { storedRows, transaction },
  notifications,
  embed,
}: {
  database: Pick<Database, 'storedRows' | 'transaction'>
  notifications: Pick<Notifications, 'on'>
  embed: (accountId: string, texts: string[], signal: AbortSignal) => Promise<number[][]>
}): Loop => ({
  name: 'row embedder',
  subscribe: (wake) => notifications.on('stored_rows', wake),
  async pass(signal) {
    const rows = await transaction((tx) => tx.storedRows.claimWaiting(batchSize))
    const [first] = rows
    if (!first) return sweepMs
    try {
      const texts = rows.map(({ text }) => text)
      const vectors = await embed(first.accountId, texts, signal)
      await storedRows.setEmbeddings(rows.map(({ id }, at) => ({ id, vector: vectors[at] ?? [] })))
    } catch (error) {
      // Otherwise the rows would wait until their claim expires.
      await storedRows.releaseClaims(rows.map(({ id }) => id)).catch(() => undefined)
      throw error
    }
    return 0
  },
})
