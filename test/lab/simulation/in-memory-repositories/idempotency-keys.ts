import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'

const dayMs = 24 * 60 * 60_000

export const idempotencyKeys = (db: Connection): InMemory<'idempotencyKeys'> => ({
  async claim({ accountId, key }, requestHash, claimMs) {
    const isTaken = await db.run('idempotencyKeys.claim', async (tx) => {
      await tx.lock('idempotencyKey', accountId, key)
      const old = tx.get('idempotencyKey', accountId, key)
      if (old && !mayTakeOver(old, requestHash, tx.now)) return false
      const claimedUntil = new Date(tx.now.getTime() + claimMs)
      tx.put('idempotencyKey', { accountId, key, requestHash, response: null, createdAt: tx.now, claimedUntil })
      return true
    })
    return isTaken
      ? null
      : db.run('idempotencyKeys.claim, holder', (tx) => record(tx.get('idempotencyKey', accountId, key)))
  },

  renew: ({ accountId, key }, requestHash, claimMs) =>
    db.run('idempotencyKeys.renew', async (tx) => {
      const isIt = (row: Rows['idempotencyKey']) =>
        isUnanswered(row, accountId, key) && Buffer.compare(row.requestHash, requestHash) === 0
      await tx.update('idempotencyKey', isIt, () => ({ claimedUntil: new Date(tx.now.getTime() + claimMs) }))
    }),

  find: ({ accountId, key }) =>
    db.run('idempotencyKeys.find', (tx) => {
      const row = tx.get('idempotencyKey', accountId, key)
      const isOfToday = row && row.createdAt.getTime() >= tx.now.getTime() - dayMs
      return isOfToday && (row.response !== null || row.claimedUntil >= tx.now) ? record(row) : null
    }),

  answer: ({ accountId, key }, response) =>
    db.run('idempotencyKeys.answer', async (tx) => {
      const isIt = (row: Rows['idempotencyKey']) => isUnanswered(row, accountId, key)
      return (await tx.update('idempotencyKey', isIt, () => ({ response }))).length === 1
    }),

  release: ({ accountId, key }) =>
    db.run('idempotencyKeys.release', (tx) => tx.delete('idempotencyKey', (row) => isUnanswered(row, accountId, key))),
})

const record = (row: Rows['idempotencyKey'] | null) => row && { requestHash: row.requestHash, response: row.response }

const isUnanswered = (row: Rows['idempotencyKey'], accountId: string, key: string) =>
  row.accountId === accountId && row.key === key && row.response === null

export const mayTakeOver = (old: Rows['idempotencyKey'], requestHash: Uint8Array, now: Date) =>
  old.createdAt.getTime() < now.getTime() - dayMs ||
  (old.response === null && old.claimedUntil < now && Buffer.compare(old.requestHash, requestHash) === 0)
