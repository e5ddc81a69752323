/** Temporal takes a line of at most 200 bytes of JSON. */
const maxBytes = 190
const separator = ' · '

/** The summary of a workflow in the list of the Temporal UI: the parts, each shortened so that all have room. */
export function summaryOf(parts: readonly string[]): string {
  const roomBytes = Math.floor(maxBytes / parts.length) - Buffer.byteLength(separator)
  return parts.map((part) => shortened(part.replaceAll(/\s+/g, ' '), roomBytes)).join(separator)
}

function shortened(text: string, roomBytes: number): string {
  const characters = Array.from(text)
  if (jsonBytes(text) <= roomBytes) return text
  while (jsonBytes(`${characters.join('')}…`) > roomBytes) characters.pop()
  return `${characters.join('')}…`
}

/** Without the quotes around it. */
const jsonBytes = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2
