import { parseTime } from './format.ts'

const day = 86_400

/** Seconds that a new key is valid; null for ever. */
export const lifetimes = { never: null, 'in a week': 7 * day, 'in 90 days': 90 * day, 'in a year': 365 * day } as const
export type Lifetime = keyof typeof lifetimes

/** The choices for a key that must end by `latest`; null for no limit. The one without seconds then means that time. */
export const lifetimesUntil = (latest: Date | null, now: Date) =>
  (Object.keys(lifetimes) as Lifetime[]).filter((each) => {
    const seconds = lifetimes[each]
    return seconds === null || latest === null || now.getTime() + seconds * 1000 < latest.getTime()
  })

type Made = Ends & { id: string; maker_key_id: string | null }

/** The valid keys that a key made, and those that these made in turn. */
export function descendantsOf<K extends Made>(id: string, keys: readonly K[], now: Date): K[] {
  const children = keys.filter((key) => key.maker_key_id === id)
  return children.flatMap((key) => [...(endOf(key, now).isOver ? [] : [key]), ...descendantsOf(key.id, keys, now)])
}

type Ends = { expires_at: string | null; revoked_at: string | null }

/** When a key ends or has ended, and the word before that time. */
export function endOf({ expires_at: expires, revoked_at: revoked }: Ends, now: Date) {
  if (revoked !== null) return { isOver: true, word: 'revoked', at: parseTime(revoked) }
  if (expires === null) return { isOver: false, word: 'never', at: null }
  const at = parseTime(expires)
  const isOver = at <= now
  return { isOver, word: isOver ? 'expired' : '', at }
}
