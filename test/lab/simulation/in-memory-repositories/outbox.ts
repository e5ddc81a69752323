import type { OutboxMessage } from '../../../../src/repositories/outbox.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

type Row = Rows['outboxMessage']

const claimMs = 30_000

export const outbox = (db: Connection): InMemory<'outbox'> => ({
  async add(message) {
    await db.run('outbox.add', (tx) => addMessages(tx, message))
    await db.run('outbox.add, notify', (tx) => tx.notify('outbox'))
  },

  claim: (limit) =>
    db.run('outbox.claim', async (tx) => {
      const claimedUntil = new Date(tx.now.getTime() + claimMs)
      const due = firstUndelivered(tx).filter(
        (row) => row.claimedUntil <= tx.now && !tx.isLocked('outboxMessage', row.id),
      )
      const ids = new Set(due.slice(0, limit).map(({ id }) => id))
      const claimed = await tx.update(
        'outboxMessage',
        ({ id }) => ids.has(id),
        ({ deliveryCount }) => ({
          claimedUntil,
          deliveryCount: deliveryCount + 1,
        }),
      )
      return claimed.map(({ claimedUntil: _until, lastError: _error, deliveredAt: _at, ...message }) => message)
    }),

  markDelivered: (id) =>
    db.run('outbox.markDelivered', async (tx) => {
      await tx.update(
        'outboxMessage',
        (row) => row.id === id,
        () => ({ deliveredAt: tx.now, lastError: null }),
      )
    }),

  retryLater: (id, { afterMs, error }) =>
    db.run('outbox.retryLater', async (tx) => {
      const changes = { claimedUntil: new Date(tx.now.getTime() + afterMs), lastError: error.slice(0, 1000) }
      await tx.update(
        'outboxMessage',
        (row) => row.id === id,
        () => changes,
      )
    }),

  dueInMs: () =>
    db.run('outbox.dueInMs', (tx) => {
      const waits = firstUndelivered(tx).map(({ claimedUntil }) => claimedUntil.getTime() - tx.now.getTime())
      const due = waits.filter((ms) => ms > 0)
      return due.length === 0 ? null : Math.min(...due)
    }),
})

/** The oldest undelivered message of each workflow, in the order of ids. */
function firstUndelivered(tx: Transaction): Row[] {
  const seen = new Set<string>()
  return tx
    .all('outboxMessage', ({ deliveredAt }) => deliveredAt === null)
    .toSorted((a, b) => Number(a.id - b.id))
    .filter(({ workflowId }) => !seen.has(workflowId) && seen.add(workflowId))
}

export function addMessages(tx: Transaction, ...messages: OutboxMessage[]) {
  const empty = { createdAt: tx.now, claimedUntil: tx.now, deliveryCount: 0, lastError: null, deliveredAt: null }
  for (const message of messages)
    tx.put('outboxMessage', { ...message, ...empty, id: BigInt(tx.next('outboxMessage')) })
}
