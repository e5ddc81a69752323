// JavaScript moves keys that look like the index of a list, such as "2", before all others and sorts them. The properties of an
// answer come in the order of its schema, so that order is kept apart, as Google's keyword propertyOrdering has it.

/** No schema that can be read is near this. Reading a text twice must stay short. */
const longestCharacters = 512 * 1024
const marker = '\uE000'
/** A key: within a text its quotes would have backslashes. */
const indexKey = /(?<!\\)"(0|[1-9]\d{0,9})"(?=[ \t\r\n]*:)/g

/** @throws SyntaxError */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const isPlain = !text.includes('"properties"') || text.search(indexKey) === -1
  if (isPlain || text.length > longestCharacters || text.includes(marker)) return value
  return unmarked(JSON.parse(text.replaceAll(indexKey, `"${marker}$1"`)))
}

function unmarked(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(unmarked)
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => [named(key), unmarked(each)] as const)
  const order = orderIn(value as Record<string, unknown>)
  return Object.fromEntries(order ? [...entries, ['propertyOrdering', order]] : entries)
}

const named = (key: string) => (key.startsWith(marker) ? key.slice(marker.length) : key)

/** @returns null for what is no schema of an object, keeps its order anyway, or says it itself */
function orderIn({ type, properties, propertyOrdering }: Record<string, unknown>): string[] | null {
  if (propertyOrdering !== undefined || ![type].flat().includes('object')) return null
  if (typeof properties !== 'object' || properties === null) return null
  const keys = Object.keys(properties)
  return keys.some((key) => key.startsWith(marker)) ? keys.map(named) : null
}
