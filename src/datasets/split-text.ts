// Cuts a stream of text into the texts of its rows, knowing the line each begins at.

/** A piece of decoded text, or why there is no more of it. */
export type TextPiece = { text: string } | { problem: string }

export type RowText = { line: number; text: string } | { line: number; problem: string }

/** A row per line; CRLF counts as one line end. */
export async function* splitLines(pieces: AsyncIterable<TextPiece>, limitCharacters: number): AsyncGenerator<RowText> {
  let line = 1
  let rest = ''
  for await (const piece of pieces) {
    if ('problem' in piece) {
      yield { line, problem: piece.problem }
      return
    }
    const lines = (rest + piece.text).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) yield { line: line++, text }
    if (rest.length > limitCharacters) {
      yield { line, problem: `is longer than ${limitCharacters} characters` }
      return
    }
  }
  if (rest !== '') yield { line, text: rest }
}

/** A row per element of the outermost array. */
export async function* splitJsonArray(
  pieces: AsyncIterable<TextPiece>,
  limitCharacters: number,
): AsyncGenerator<RowText> {
  const state = { line: 1, rowLine: 1, depth: 0, inString: false, escaped: false, closed: false, row: '' }
  for await (const piece of pieces) {
    if ('problem' in piece) {
      yield { line: state.line, problem: piece.problem }
      return
    }
    for (const text of scan(state, piece.text)) yield text
    if (state.row.length > limitCharacters) {
      yield { line: state.rowLine, problem: `is longer than ${limitCharacters} characters` }
      return
    }
  }
  if (!state.closed) yield { line: state.line, problem: 'the JSON array is not closed: the file looks cut off' }
}

type ScanState = {
  line: number
  rowLine: number
  depth: number
  inString: boolean
  escaped: boolean
  closed: boolean
  row: string
}

function* scan(state: ScanState, text: string): Generator<RowText> {
  // Where the unsaved part of the current row begins in this piece.
  let from = 0
  const take = (to: number) => {
    state.row += text.slice(from, to)
    from = to + 1
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '\n') state.line++
    if (state.inString) {
      if (state.escaped) state.escaped = false
      else if (sign === '\\') state.escaped = true
      else if (sign === '"') state.inString = false
      continue
    }
    if (sign === '"') state.inString = true
    else if (sign === '[' || sign === '{') {
      state.depth++
      if (state.depth === 1) from = at + 1
      if (state.depth === 2) state.rowLine = state.line
    } else if (sign === ']' || sign === '}') {
      state.depth--
      if (state.depth === 0) {
        take(at)
        state.closed = true
        if (state.row.trim() !== '') yield { line: state.rowLine, text: state.row }
        state.row = ''
      }
    } else if (sign === ',' && state.depth === 1) {
      take(at)
      yield { line: state.rowLine, text: state.row }
      state.row = ''
      state.rowLine = state.line
    }
  }
  if (state.depth > 0) state.row += text.slice(from)
}
