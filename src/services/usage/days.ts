import { invalidInput } from '../../domain/service-error.ts'
import { dayOf } from '../../domain/usage.ts'

const dayMs = 24 * 60 * 60 * 1000
const usualDays = 30

/** Days, inclusive. Null: the last 30 days up to today. */
export type Days = { from: string | null; to: string | null }

/** @returns the first and the last day, and the day after the last. @throws ServiceError invalid_input */
export function daysOf({ from, to }: Days): { first: string; last: string; after: string } {
  const last = to ?? dayOf(new Date())
  const first = from ?? dayOf(new Date(Date.parse(last) - (usualDays - 1) * dayMs))
  if (first > last) throw invalidInput('from', 'from must not be later than to.')
  return { first, last, after: dayOf(new Date(Date.parse(last) + dayMs)) }
}
