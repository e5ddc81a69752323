// Finds the elements of a JSON array that arrives in pieces, byte by byte, without building anything.

const quote = 0x22
const backslash = 0x5c
const newline = 0x0a
const comma = 0x2c
const space = 0x20

// What a byte does outside of strings.
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

/** Where elements end: the offset of each comma, or of the closing bracket, and the line that each element begins at. */
export type ElementEnds = { offsets: number[]; lines: number[] }

/** Begins right after the opening bracket. */
export function createArrayScanner(firstLine = 1) {
  const state = { line: firstLine, elementLine: firstLine, depth: 1, deepest: 1, inString: false, escaped: false }

  return {
    line: () => state.line,
    /** 1 is the array itself. */
    deepest: () => state.deepest,

    /**
     * Adds the ends in this chunk, `most` of them, and turns line ends between strings into spaces: an element then is a line.
     * @returns the offset behind the closing bracket, or -1 when it is not in it
     */
    push(chunk: Buffer, start: number, found: ElementEnds, most = Number.POSITIVE_INFINITY): number {
      // Locals: this loop sees every byte outside of strings.
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
          if (offsets.length >= most) break
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

/** The text of one element, surrounded by whatever white space there was, and the line it begins at. */
export type ElementBytes = { line: number; bytes: Buffer }

/** The elements one by one, for those that need each by itself. */
export function createElementReader(firstLine = 1) {
  const scanner = createArrayScanner(firstLine)
  let waiting: Buffer[] = []
  let waitingBytes = 0
  return {
    line: scanner.line,
    /** Of the element that is not complete yet. */
    waitingBytes: () => waitingBytes,

    /** As the scanner's; adds the elements completed in this chunk. */
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
      // A copy: the chunk's memory would be held for a few bytes of it.
      if (end === -1 && from < chunk.length) {
        waiting.push(Buffer.from(chunk.subarray(from)))
        waitingBytes += chunk.length - from
      }
      return end
    },
  }
}

/** Short strings are looked through here: calling out costs more than they do. */
const lookedThroughBytes = 24

const cut = -1
const cutAfterBackslash = -2

/** Where the string ends that `start` is inside of, or how the chunk cuts it. */
function stringEnd(chunk: Buffer, start: number, wasEscaped: boolean): number {
  let escaped = wasEscaped
  let at = start
  for (const end = Math.min(chunk.length, start + lookedThroughBytes); at < end; at++) {
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
    // Whether the quote counts depends on the number of backslashes right before it.
    let from = to
    while (from > at && chunk[from - 1] === backslash) from--
    escaped = (to - from) % 2 === 1
    if (end !== -1 && !escaped) return end
    at = to
  }
  return escaped ? cutAfterBackslash : cut
}
