/** The value of a longer text may take more memory than a thread has, which would end the process: `[[],[],…]` takes 20 times the text. */
const maxCharacters = 4 * 1024 * 1024

/** Reads JSON that may be any text. @returns undefined for text that is not JSON, or too long */
export function parsedJson(text: string): unknown {
  if (text.length > maxCharacters) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
