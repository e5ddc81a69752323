/** The Link header of a list that goes on, as RFC 8288 says: the same question with the cursor of the next page. */
export function linkToNext(path: string, query: Record<string, string | number | undefined>): string {
  const next = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) next.set(name, String(value))
  return `<${path}?${next.toString()}>; rel="next"`
}
