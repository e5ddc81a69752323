// Lists come in pages: their options, and what a person is told of the next page.

export const pageOptions = { limit: { type: 'string' }, after: { type: 'string' } } as const

export const pageUsage = `  --limit N    at most this many entries (default: the service's)
  --after ID   continue the list after this entry, the "next" of the page before`

/** @returns "?a=b&c=d" of what is defined, or nothing */
export function queryOf(parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

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
