// Claiming messages and trying them again.
import type { Doubles } from './doubles.ts'
import type { Row } from './rows.ts'

const isUndelivered = ({ deliveredAt }: Row) => deliveredAt === null
const untilMs = (row: Row) => (row['claimedUntil'] as Date).getTime()

export const outboxDoubles: Doubles = {
  'claim messages': [
    'c4216945',
    async (session, [seconds, limit]) => {
      const claimedUntil = new Date(session.nowMs + seconds * 1000)
      const claimed: Row[] = []
      const seen = new Set<unknown>()
      const undelivered = session.all('outboxMessage', isUndelivered)
      for (const [key, row] of undelivered.toSorted(([, a], [, b]) => Number(a['id']) - Number(b['id']))) {
        const isFirst = !seen.has(row['workflowId'])
        seen.add(row['workflowId'])
        if (
          !isFirst ||
          untilMs(row) > session.nowMs ||
          claimed.length >= limit ||
          session.isLocked('outboxMessage', key)
        )
          continue
        await session.lock('outboxMessage', key)
        const next = { ...row, claimedUntil, deliveryCount: Number(row['deliveryCount']) + 1 }
        session.put('outboxMessage', key, next)
        claimed.push(next)
      }
      return claimed
    },
  ],

  'mark message delivered': [
    'e639ecea',
    async (session, [id]) => {
      const deliveredAt = new Date(session.nowMs)
      const isIt = (row: Row) => row['id'] === id
      return (await session.update('outboxMessage', isIt, (row) => ({ ...row, deliveredAt, lastError: null }))).length
    },
  ],

  'retry message later': [
    'fd80b63b',
    async (session, [seconds, lastError, id]) => {
      const claimedUntil = new Date(session.nowMs + seconds * 1000)
      const isIt = (row: Row) => row['id'] === id
      return (await session.update('outboxMessage', isIt, (row) => ({ ...row, claimedUntil, lastError }))).length
    },
  ],

  'see what is due': [
    '872359a1',
    async (session) => {
      const due = session.all('outboxMessage', isUndelivered).map(([, row]) => untilMs(row))
      return [{ due: due.length === 0 ? null : Math.min(...due) - session.nowMs }]
    },
  ],
}
