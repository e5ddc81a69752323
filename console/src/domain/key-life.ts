import { parseTime } from './format.ts'

const day = 86_400

/** Seconds that a new key is valid; null for ever. */
export const lifetimes = { never: null, 'in a week': 7 * day, 'in 90 days': 90 * day, 'in a year': 365 * day } as const
export type Lifetime = keyof typeof lifetimes

type Ends = { expires_at: string | null; revoked_at: string | null }

/** When a key ends or has ended, and the word before that time. */
export function endOf({ expires_at: expires, revoked_at: revoked }: Ends, now: Date) {
  if (revoked !== null) return { isOver: true, word: 'revoked', at: parseTime(revoked) }
  if (expires === null) return { isOver: false, word: 'never', at: null }
  const at = parseTime(expires)
  const isOver = at <= now
  return { isOver, word: isOver ? 'expired' : '', at }
}
