// Gives stored rows their embeddings: woken by notifications, swept for what they missed, a batch at a time.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../log.ts'
import type { Database } from '../repositories/database.ts'
import type { Notifications } from '../repositories/notifications.ts'

/** A query waits for the batch that is being embedded before it. */
const batchSize = 32
const sweepMs = 5000
const pauseAfterErrorMs = 1000

/** Runs until `signal` aborts; any number of workers may run. A batch that is made twice is made the same. */
export async function embedWaitingRows({
  database: { storedRows },
  notifications,
  embed,
  log,
  signal,
}: {
  database: Pick<Database, 'storedRows'>
  notifications: Pick<Notifications, 'next'>
  embed: (accountId: string, texts: string[], signal: AbortSignal) => Promise<number[][]>
  log: Log
  signal: AbortSignal
}): Promise<void> {
  while (!signal.aborted) {
    try {
      const rows = await storedRows.claimWaiting(batchSize)
      const [first] = rows
      if (first) await embedBatch(first.accountId, rows)
      else await notifications.next('stored_rows', { timeoutMs: sweepMs, signal })
    } catch (error) {
      if (signal.aborted) return
      log.warn({ error: String(error) }, 'stored rows cannot be embedded now; trying again')
      await sleep(pauseAfterErrorMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async function embedBatch(accountId: string, rows: readonly { id: string; text: string }[]) {
    try {
      const texts = rows.map(({ text }) => text)
      const vectors = await embed(accountId, texts, signal)
      await storedRows.setEmbeddings(rows.map(({ id }, at) => ({ id, vector: vectors[at] ?? [] })))
    } catch (error) {
      // Else they would wait until the claim has run out.
      await storedRows.releaseClaims(rows.map(({ id }) => id)).catch(() => undefined)
      throw error
    }
  }
}
