// Bounds of users' JSON, checked before it is parsed. A parser builds all values in one native call, which no limit on the heap of
// a thread can end: without bounds, 16 MB of "{},{},…" take half a gigabyte and end the whole process.

const mostValues = 500_000
/** Deeper values overflow the stack of what walks through them; no request needs half of it. */
const maxLevels = 100

/** Bounds of one use. */
export type JsonBounds = {
  /** Values together. */
  values?: number
  /** Names of one object: it becomes a hash table, which takes microseconds a name to build and to read. */
  names?: number
  /** Characters of one text as JSON writes it. */
  characters?: number
}

/** Shorter texts are harmless: they hold fewer than 1,000 levels and values. */
const harmlessCharacters = 2000

const [quote, backslash, comma, bracket, brace, endBracket, endBrace] = Buffer.from('"\\,[{]}') as unknown as number[]

export const tooDeep = `is nested more than ${maxLevels} levels deep`
const tooMany = (values: number) => `holds more than ${values} values`
export const tooManyValues = tooMany(mostValues)

/**
 * Counts the values of texts that are used together. Tells strings from the rest; the parser checks the syntax.
 * `add` takes the next text, and gives the first bound that is passed, as a phrase, or null.
 */
export function createJsonCount(bounds: JsonBounds = {}) {
  const { values: most = mostValues, names = Infinity, characters = Infinity } = bounds
  let values = 0
  return {
    values: () => values,
    add(text: string): string | null {
      let depth = 0
      // By depth: how many names the object has that is open there. A list counts none.
      const namesAt = new Float64Array(maxLevels + 2)
      values++
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at)
        if (code === quote) {
          const end = stringEnd(text, at + 1)
          if (end - at > characters) return `holds a text of more than ${characters} characters`
          at = end
        } else if (code === bracket || code === brace) {
          values++
          if (++depth > maxLevels) return tooDeep
          namesAt[depth] = code === brace ? 1 : -Infinity
        } else if (code === endBracket || code === endBrace) depth--
        else if (code === comma) {
          values++
          if (++(namesAt[depth] as number) > names) return `holds an object of more than ${names} names`
        }
        if (values > most) return tooMany(most)
      }
      return null
    },
  }
}

const jsonExcess = (text: string) => createJsonCount().add(text)

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
