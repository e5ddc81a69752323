// Bounds of users' JSON, checked before it is parsed. A parser builds all values in one native call, which no limit on the heap of
// a thread can end: without bounds, 16 MB of "{},{},…" take half a gigabyte and end the whole process.

/** A thread hands over values outside of lists at once, so their number is bounded; texts make a body large. */
const maxValues = 500_000
/** Deeper values overflow the stack of what walks through them; no request needs half of it. */
const maxLevels = 100

/** Shorter texts are harmless: they hold fewer than 1,000 levels and values. */
const harmlessCharacters = 2000

const [quote, backslash, comma, bracket, brace, endBracket, endBrace] = Buffer.from('"\\,[{]}') as unknown as number[]

export const tooDeep = `is nested more than ${maxLevels} levels deep`
export const tooManyValues = `holds more than ${maxValues} values`

/**
 * Counts the values of texts that are used together. Tells strings from the rest; the parser checks the syntax.
 * @returns a function that takes the next text, and gives the first bound that is passed, as a phrase, or null
 */
export function createJsonCount() {
  let values = 0
  return (text: string): typeof tooDeep | typeof tooManyValues | null => {
    let depth = 0
    values++
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) at = stringEnd(text, at + 1)
      else if (code === bracket || code === brace) {
        values++
        if (++depth > maxLevels) return tooDeep
      } else if (code === endBracket || code === endBrace) depth--
      else if (code === comma) values++
      if (values > maxValues) return tooManyValues
    }
    return null
  }
}

export const jsonExcess = (text: string) => createJsonCount()(text)

/** For short texts of which there are many, such as rows. */
export const excessOfLong = (text: string) => (text.length > harmlessCharacters ? jsonExcess(text) : null)

function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === backslash) before--
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
