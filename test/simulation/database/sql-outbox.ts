// Claiming messages and trying them again.
import type { Doubles } from './doubles.ts'
import type { Row, Session } from './rows.ts'

const isUndelivered = ({ deliveredAt }: Row) => deliveredAt === null
const untilMs = (row: Row) => (row['claimedUntil'] as Date).getTime()

/** Of each workflow, in the order of their ids. */
function firstUndelivered(session: Session) {
  const seen = new Set<unknown>()
  return session
    .all('outboxMessage', isUndelivered)
    .toSorted(([, a], [, b]) => Number(a['id']) - Number(b['id']))
    .filter(([, { workflowId }]) => !seen.has(workflowId) && seen.add(workflowId))
}

export const outboxDoubles: Doubles = {
  'claim messages': [
    'c4216945',
    async (session, [seconds, limit]) => {
      const claimedUntil = new Date(session.nowMs + seconds * 1000)
      const claimed: Row[] = []
      for (const [key, row] of firstUndelivered(session)) {
        if (untilMs(row) > session.nowMs || claimed.length >= limit || session.isLocked('outboxMessage', key)) continue
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
    '40d85bcc',
    async (session) => {
      const due = firstUndelivered(session).map(([, row]) => untilMs(row))
      return [{ due: due.length === 0 ? null : Math.min(...due) - session.nowMs }]
    },
  ],
}
