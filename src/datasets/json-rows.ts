// Cuts a JSON array that arrives in pieces into the texts of its elements, byte by byte, without building anything.

const quote = 0x22
const backslash = 0x5c
const newline = 0x0a
const comma = 0x2c

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

/** The text of one element, surrounded by whatever white space there was, and the line it begins at. */
export type ElementBytes = { line: number; bytes: Buffer; hasLineEnds: boolean }

export type ArrayScanner = ReturnType<typeof createArrayScanner>

/** Begins right after the opening bracket. */
export function createArrayScanner(firstLine = 1) {
  const state = { line: firstLine, elementLine: firstLine, depth: 1, inString: false, escaped: false }
  let waiting: Buffer[] = []
  let waitingBytes = 0

  function element(chunk: Buffer, from: number, to: number, line: number, elementLine: number): ElementBytes {
    const last = chunk.subarray(from, to)
    const bytes = waiting.length === 0 ? last : Buffer.concat([...waiting, last])
    waiting = []
    waitingBytes = 0
    return { line: elementLine, bytes, hasLineEnds: line > elementLine }
  }

  return {
    /** Of the element that is not complete yet. */
    waitingBytes: () => waitingBytes,
    line: () => state.line,

    /** Adds the elements completed in this chunk. @returns the offset behind the closing bracket, or -1 when it is not in it */
    push(chunk: Buffer, start: number, found: ElementBytes[]): number {
      // Locals: this loop sees every byte outside of strings.
      let { line, elementLine, depth, inString, escaped } = state
      const { length } = chunk
      let from = start
      let at = start
      for (; at < length; at++) {
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
        else if (sign === endsLine) line++
        else if (sign === opens) {
          if (depth++ === 1) elementLine = line
        } else if (sign === closes) {
          if (--depth > 0) continue
          found.push(element(chunk, from, at, line, elementLine))
          state.line = line
          return at + 1
        } else if (depth === 1) {
          found.push(element(chunk, from, at, line, elementLine))
          elementLine = line
          from = at + 1
        }
      }
      Object.assign(state, { line, elementLine, depth, inString, escaped })
      // A copy: the chunk's memory would be held for a few bytes of it.
      if (from < length) {
        waiting.push(Buffer.from(chunk.subarray(from)))
        waitingBytes += length - from
      }
      return -1
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
