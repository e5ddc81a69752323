// Lists come in pages: their options, and what a person is told of the next page.
import type { Options } from '../command.ts'

export const pageOptions = {
  limit: { value: 'N', says: "at most this many entries (default: the service's)" },
  after: { value: 'NEXT', says: 'continue the list: NEXT is the "next" of the page before' },
} as const satisfies Options

/** On standard error, so that the list can be piped. */
export function tellNext(next: string | number | null) {
  if (next !== null) console.error(`There are more: --after ${next}`)
}

/** UTC, to the second. */
export const shortTime = (time: string | null) => time?.slice(0, 19).replace('T', ' ') ?? ''

export const oneLine = (text: string | null, length = 80) => {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim()
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`
}
