export type Output = 'table' | 'json' | 'jsonl'

export const isOutput = (word: string): word is Output => ['table', 'json', 'jsonl'].includes(word)

/** Writes the answer to standard output, and nothing else goes there. */
export function printAs(output: Output, value: unknown, text: () => string) {
  if (output === 'table') console.log(text())
  else if (output === 'json') console.log(JSON.stringify(value, null, 2))
  else for (const entry of entriesOf(value)) console.log(JSON.stringify(entry))
}

/** The list itself, or the only list of an answer such as a page. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  const lists = typeof value === 'object' && value !== null ? Object.values(value).filter(Array.isArray) : []
  return lists.length === 1 ? (lists[0] as unknown[]) : [value]
}
