// Finds the elements of a JSON array that arrives in chunks, without parsing them.

const quote = 0x22
const backslash = 0x5c
const newline = 0x0a
const comma = 0x2c
const space = 0x20

// Meanings of bytes outside of strings.
const plain = 0
const opens = 1
const closes = 2
const separates = 3
const endsLine = 4
const quotes = 5
const meaning = new Uint8Array(256)
for (const byte of Buffer.from('[{')) meaning[byte] = opens
for (const byte of Buffer.from(']}')) meaning[byte] = closes
meaning[comma] = separates
meaning[newline] = endsLine
meaning[quote] = quotes

/** The offsets where elements end (a comma or the closing bracket), and the line where each element begins. */
export type ElementEnds = { offsets: number[]; lines: number[] }

/** Starts right after the opening bracket. */
export function createArrayScanner(firstLine = 1) {
  const state = { line: firstLine, elementLine: firstLine, depth: 1, deepest: 1, inString: false, escaped: false }

  return {
    line: () => state.line,
    /** The greatest depth so far; the array itself is 1. */
    deepest: () => state.deepest,

    /**
     * Adds up to `max` ends in this chunk. Overwrites line ends outside of strings by spaces, so that an element is one line.
     * @returns the offset behind the closing bracket, or -1 when the chunk does not have it
     */
    push(chunk: Buffer, start: number, found: ElementEnds, max = Number.POSITIVE_INFINITY): number {
      // Locals are faster in a loop over every byte.
      let { line, elementLine, depth, deepest, inString, escaped } = state
      const { length } = chunk
      const { offsets, lines } = found
      let closedAt = -1
      for (let at = start; at < length; at++) {
        if (inString) {
          const end = stringEnd(chunk, at, escaped)
          escaped = end === cutAfterBackslash
          if (end < 0) break
          at = end
          inString = false
          continue
        }
        const sign = meaning[chunk[at] as number]
        if (sign === plain) continue
        if (sign === quotes) inString = true
        else if (sign === endsLine) {
          line++
          chunk[at] = space
        } else if (sign === opens) {
          if (depth++ === 1) elementLine = line
          if (depth > deepest) deepest = depth
        } else if (sign === closes) {
          if (--depth > 0) continue
          closedAt = at
          break
        } else if (depth === 1) {
          offsets.push(at)
          lines.push(elementLine)
          elementLine = line
          if (offsets.length >= max) break
        }
      }
      if (closedAt !== -1) {
        offsets.push(closedAt)
        lines.push(elementLine)
      }
      Object.assign(state, { line, elementLine, depth, deepest, inString, escaped })
      return closedAt === -1 ? -1 : closedAt + 1
    },
  }
}

/** The text of one element with the white space around it, and the line where it begins. */
export type ElementBytes = { line: number; bytes: Buffer }

/** Yields the elements one by one. */
export function createElementReader(firstLine = 1) {
  const scanner = createArrayScanner(firstLine)
  let waiting: Buffer[] = []
  let waitingBytes = 0
  return {
    line: scanner.line,
    /** Size of the element that is not complete yet. */
    waitingBytes: () => waitingBytes,

    /** Adds the elements completed in this chunk. @returns the offset behind the closing bracket, or -1 */
    push(chunk: Buffer, start: number, found: ElementBytes[]): number {
      const ends: ElementEnds = { offsets: [], lines: [] }
      const end = scanner.push(chunk, start, ends)
      let from = start
      for (const [index, offset] of ends.offsets.entries()) {
        const last = chunk.subarray(from, offset)
        found.push({
          line: ends.lines[index] ?? firstLine,
          bytes: waiting.length === 0 ? last : Buffer.concat([...waiting, last]),
        })
        waiting = []
        waitingBytes = 0
        from = offset + 1
      }
      // Copy the rest, so that a few bytes do not hold the memory of the whole chunk.
      if (end === -1 && from < chunk.length) {
        waiting.push(Buffer.from(chunk.subarray(from)))
        waitingBytes += chunk.length - from
      }
      return end
    },
  }
}

/** Short strings are searched by this loop, because a call of indexOf costs more. */
const searchedBytes = 24

const cut = -1
const cutAfterBackslash = -2

/** @returns the offset of the quote that ends the string around `start`, or how the chunk cuts the string */
function stringEnd(chunk: Buffer, start: number, wasEscaped: boolean): number {
  let escaped = wasEscaped
  let at = start
  for (const end = Math.min(chunk.length, start + searchedBytes); at < end; at++) {
    const byte = chunk[at]
    if (escaped) escaped = false
    else if (byte === backslash) escaped = true
    else if (byte === quote) return at
  }
  while (at < chunk.length) {
    if (escaped) {
      escaped = false
      at++
      continue
    }
    const end = chunk.indexOf(quote, at)
    const to = end === -1 ? chunk.length : end
    // An odd number of backslashes before the quote escapes it.
    let from = to
    while (from > at && chunk[from - 1] === backslash) from--
    escaped = (to - from) % 2 === 1
    if (end !== -1 && !escaped) return end
    at = to
  }
  return escaped ? cutAfterBackslash : cut
}
